from __future__ import annotations

from typing import ClassVar

from django.contrib.auth import get_backends
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Length, Lower
from django.db.models.lookups import Exact
from django.utils import timezone

from core.ids import new_id


class Tier(models.TextChoices):
    """Who is served first when the GPUs are busy: internal before pro before free."""

    FREE = "free"
    PRO = "pro"
    INTERNAL = "internal"


class Scope(models.TextChoices):
    API = "api", "Use the REST API"
    INFERENCE = "inference", "Call models directly"


class UserManager(BaseUserManager["User"]):
    """Accounts are made by e-mail address; allauth and `createsuperuser` both come through here."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> User:
        return self.create_user(email, password, is_superuser=True, tier=Tier.INTERNAL, **fields)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Signs in by e-mail address, which is unique without regard to case: it is kept in lower case only."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=150, blank=True)
    tier = models.CharField(max_length=16, choices=Tier.choices, default=Tier.FREE)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(email=Lower("email")), name="user_email_lower_case"),
            models.CheckConstraint(condition=models.Q(tier__in=["free", "pro", "internal"]), name="user_tier_known"),
        ]

    def has_perm(self, perm: str, obj: models.Model | None = None) -> bool:
        """Rank opens no door to what is somebody's own: a superuser passes unasked only where no object is named.

        Otherwise whoever runs the machine would read every prompt, and no access log would say so.
        """
        if obj is None:
            return super().has_perm(perm)
        return self.is_active and any(backend.has_perm(self, perm, obj=obj) for backend in get_backends())

    @property
    def label(self) -> str:
        """How others see this person: the name, else the address before the @."""
        return label_of(self.name, self.email)


def label_of(name: str, email: str) -> str:
    return name or email.partition("@")[0]


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def of(self, account: User) -> ApiKeyQuerySet:
        return self.filter(account=account)

    def usable(self) -> ApiKeyQuerySet:
        """Neither revoked nor of an account that was switched off."""
        return self.filter(revoked_at=None, account__is_active=True)


class ApiKey(models.Model):
    """A key for programs. Only its SHA-256 is kept (a 256-bit random key needs no slow hash); shown once.

    A revoked key's row stays, so that what it did can still be named.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    account = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    made_with = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="made",
        help_text="The key that made this one, which ends with it; null if the person did.",
    )
    name = models.CharField(max_length=100)
    digest = models.BinaryField(max_length=32, unique=True)
    prefix = models.CharField(max_length=16)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices), size=len(Scope))
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Exact(Length("digest"), 32), name="api_key_digest_is_sha256"),
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=["api", "inference"], scopes__len__gt=0),
                name="api_key_scopes_known",
            ),
        ]

    def comes_from(self, other: ApiKey) -> bool:
        """Whether this is `other`, or was made with it or with a key that was."""
        key: ApiKey | None = self
        while key is not None:
            if key.pk == other.pk:
                return True
            key = key.made_with
        return False
