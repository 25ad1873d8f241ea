from review.models.comment import Comment, Mention
from review.models.placement import Placement, PlacementState
from review.models.thread import Thread

__all__ = ["Comment", "Mention", "Placement", "PlacementState", "Thread"]
