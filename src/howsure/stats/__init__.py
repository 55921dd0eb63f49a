"""Statistics without domain words: plain arrays in, frozen results out.

::

    means          a mean or a difference of means over clusters, with an interval that keeps its coverage near 0 and 1; proportions
    replicates     the one policy for replicates without a number: intervals, P(A > B), P(best); bootstrap, jackknife
    permutation    sign-flip, permutation and McNemar tests; tests for an expected order of groups: Jonckheere, Page
    multiplicity   p-values of many tests: Holm, Benjamini–Hochberg; bars of many estimates that can be compared by eye
    power          what a comparison of two models can show before it is run
    trends         a straight line with confidence and prediction bands
    survival       Kaplan–Meier, median and restricted mean, log-rank test
    reliability    ICC, Cronbach's alpha, Krippendorff's alpha, Gwet's AC, kappas, and all coefficients of a table of ratings
    components     variance of items, raters and residual, by ANOVA or REML; means over items and raters who are both samples
    correlation    correlations with intervals, disattenuation, critical value and power
    judges         a judge against people on equal terms; the alternative-annotator test
    corrections    prediction-powered means and rates corrected for a judge's errors
    bias           how far a judge's ratings follow the slot or the length of what it rates
    calibration    whether a score of 0.8 is right 80 % of the time
    label_sampling few labels and judges of all items: which to label, how many, and the mean label
    ordinal        ordered categories by a cumulative logit model with random effects
    latent_classes true categories behind raters who err (Dawid and Skene)
    spans          agreement on parts of texts
    system_differences  systems compared for other items and other raters
    sequences      intervals and alarms that are valid for any number of looks
    paired_comparisons  strengths from votes and rankings: Bradley–Terry with ties, position and covariates, Plackett–Luce
    coverage       how often each of these intervals contains the true value, by simulation; variance between items and repeats
"""
