"""From a study to pages for raters and the sealed key: selection, checks, design, building, rehearsal."""
