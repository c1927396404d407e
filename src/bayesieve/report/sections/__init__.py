"""What each section of the report shows: caps, orders and chart geometry, ready for the templates."""
