"""The planner: how fast devices are, and which one runs a workload fastest.

    work = vectis.plan.Workload("scan", operations=2e9, bytes=1e9)
    choice = vectis.plan.choose([vectis.plan.Placement(device, work) for device in vectis.devices()])
    print(choice.explain())
"""

from ._vectis import Assessment, Choice, CopySpeed, DeviceProfile, Placement, Prediction, Workload
from ._vectis import plan_assess as assess
from ._vectis import plan_calibrate as calibrate
from ._vectis import plan_choose as choose
from ._vectis import plan_profile as profile
from ._vectis import plan_recalibrate as recalibrate
from ._vectis import plan_record as record

__all__ = [
    "Assessment",
    "Choice",
    "CopySpeed",
    "DeviceProfile",
    "Placement",
    "Prediction",
    "Workload",
    "assess",
    "calibrate",
    "choose",
    "profile",
    "recalibrate",
    "record",
]
