"""GeoVerify: claims about where a photo was taken, true ones and decoys at known distances, with two controls."""

from signpost_kit.claims.plan import claim_plan, claim_question, judged_frame
from signpost_kit.claims.trials import claim_pictures, make_trials

__all__ = ["claim_pictures", "claim_plan", "claim_question", "judged_frame", "make_trials"]
