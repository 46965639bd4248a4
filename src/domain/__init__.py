"""Values and decisions; pure, standard library only."""
