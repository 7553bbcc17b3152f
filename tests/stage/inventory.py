"""What is in a namespace: every object of every kind that can be listed, and whose it is.

The kinds are asked for, not written down, so that a kind that the operator makes one day is looked at too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stage.kubectl import Kubectl, Object

_MADE_FOR_EVERY_NAMESPACE = frozenset({"ConfigMap/kube-root-ca.crt", "ServiceAccount/default"})


@dataclass(slots=True)
class Inventory:
    """Everything that was seen in a namespace, at one moment or at several.

    Looks add up: an object whose owner was deleted between two looks is still known to have been owned.

    Attributes:
        kubectl: kubectl in the namespace.
        objects: The newest state of every object that was seen, by uid; neither Events nor what Kubernetes
            puts into every namespace.
    """

    kubectl: Kubectl
    objects: dict[str, Object] = field(default_factory=dict)

    def look(self) -> None:
        """Take note of all that is there now."""
        self.objects |= {found["metadata"]["uid"]: found for found in everything(self.kubectl)}

    def root_of(self, found: Object) -> Object | None:
        """Return the end of the chain of controllers that made an object; None if one was never seen."""
        while (owner := self._owner_of(found)) is not None:
            if owner not in self.objects:
                return None
            found = self.objects[owner]
        return found

    def _owner_of(self, found: Object) -> str | None:
        if found["kind"] == "Endpoints":
            # Kubernetes gives them no owner: they have their Service's name, and go with it.
            service = f"Service/{found['metadata']['name']}"
            return next((uid for uid, each in self.objects.items() if name_of(each) == service), "")
        owners = found["metadata"].get("ownerReferences", ())
        return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def everything(kubectl: Kubectl) -> Iterator[Object]:
    """Yield all objects of a namespace but Events and what Kubernetes puts into every namespace."""
    kinds = kubectl("api-resources", "--namespaced", "--verbs=list", "--output=name").split()
    for found in kubectl.list(",".join(kinds)):
        if found["kind"] != "Event" and name_of(found) not in _MADE_FOR_EVERY_NAMESPACE:
            yield found


def name_of(found: Object) -> str:
    """Return ``Kind/name`` of an object."""
    return f"{found['kind']}/{found['metadata']['name']}"
