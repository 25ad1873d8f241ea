"""What may be asked and what may be answered: rules, a classifier, and windows over the answer as it streams."""
