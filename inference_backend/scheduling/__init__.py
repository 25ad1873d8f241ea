"""Who is served next, and by what. Pure: the time of each event is passed in, in seconds of a monotonic clock."""
