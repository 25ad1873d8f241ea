"""The live status page: what an operator without Grafana looks at."""
