"""From raters' answers to scores: collection, exclusions, fidelity, domains, agreement with a model's scores."""
