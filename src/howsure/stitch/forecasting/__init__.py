"""Where the scale is going: frontier, forecasts and their past, progress, time horizons."""
