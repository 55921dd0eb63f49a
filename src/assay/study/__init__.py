"""Human ratings: do people agree, and how sure is that?"""
