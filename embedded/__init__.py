"""What `manage.py up` starts: PostgreSQL, Valkey, SeaweedFS and a model server from wheels, and the application."""
