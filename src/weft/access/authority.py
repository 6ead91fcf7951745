"""Certificates of a cluster: an authority of its own, which signs for master, nodes, operators and clients.

Keys are of the curve P-256, which every TLS library speaks. A certificate says who somebody is and in which role
(badge.py), and by which hosts it is reached, for MQTT clients that check that. Within the cluster nobody asks for
hosts: who is called is known by name.

Whoever asks for a certificate makes its own key, and sends a request (PKCS #10) that only proves that it has the key:
name, role and hosts are said by the authority.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from weft.access.badge import EARLY, Role
from weft.access.name import is_user
from weft.errors import WeftError

YEARS = timedelta(days=3650)  # of an authority
LIFE = timedelta(days=825)  # of other certificates


@dataclass(frozen=True, slots=True)
class Authority:
    certificate: bytes  # PEM
    key: bytes  # PEM


@dataclass(frozen=True, slots=True)
class Signed:
    certificate: bytes  # PEM
    serial: str  # as Python's `getpeercert` writes it


def new_key() -> bytes:
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def new_authority(name: str, now: float) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = (
        _builder(subject, subject, key.public_key(), now, YEARS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    return Authority(made.public_bytes(Encoding.PEM), _pem(key))


def request(key: bytes, name: str) -> bytes:
    """Request for a certificate of a key, in PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    made = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(_private(key), SHA256())
    return made.public_bytes(Encoding.PEM)


def sign(authority: Authority, asked: bytes, role: Role, name: str, hosts: tuple[str, ...], now: float) -> Signed:
    """Certificate for who has the key of a request."""
    require_name(name)
    try:
        wanted = x509.load_pem_x509_csr(asked)
        key, is_signed = wanted.public_key(), wanted.is_signature_valid
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise WeftError("The request for a certificate cannot be read: ask again.") from error
    if not is_signed or not isinstance(key, ec.EllipticCurvePublicKey):
        raise WeftError("The request for a certificate is not signed by its key: ask again.")
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    parts = [(NameOID.ORGANIZATIONAL_UNIT_NAME, role.value), (NameOID.COMMON_NAME, name)]
    subject = x509.Name([x509.NameAttribute(*part) for part in parts])
    builder = (
        _builder(subject, issuer.subject, key, now, LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(_issuer_key(issuer), critical=False)
        .add_extension(x509.ExtendedKeyUsage(_purposes(role)), critical=False)
        .add_extension(x509.SubjectAlternativeName([_host(one) for one in (*hosts, name)]), critical=False)
    )
    made = builder.sign(_private(authority.key), SHA256())
    digits = f"{made.serial_number:X}"
    return Signed(made.public_bytes(Encoding.PEM), digits.zfill(len(digits) + len(digits) % 2))


def end_of(certificate: bytes) -> float:
    """Seconds since 1970 at which a certificate in PEM expires."""
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc.timestamp()
    except ValueError as error:
        raise WeftError("It is no certificate in PEM.") from error


def span_problem(certificate: bytes, now: float) -> str:
    """Why a certificate in PEM is not valid at this time; nothing where it is."""
    try:
        made = x509.load_pem_x509_certificate(certificate)
    except ValueError:
        return "it is no certificate in PEM"
    begin, end = made.not_valid_before_utc, made.not_valid_after_utc
    if now >= end.timestamp():
        return f"it expired on {end:%Y-%m-%d %H:%M} UTC: get another from `weft ca`"
    if now < begin.timestamp():
        return f"it is valid from {begin:%Y-%m-%d %H:%M} UTC, and the clock here says less: set the clock"
    return ""


def is_due(certificate: bytes, now: float) -> bool:
    """Whether a certificate has less than a third of its life before it, and should be renewed."""
    return has_little_left(end_of(certificate), now)


def has_little_left(ends: float, now: float) -> bool:
    return ends - now < LIFE.total_seconds() / 3


def hosts_of(certificate: bytes) -> tuple[str, ...]:
    """Hosts that a certificate of ours names, its own name left out."""
    made = x509.load_pem_x509_certificate(certificate)
    (name,) = made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    found = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return tuple(str(one.value) for one in found if str(one.value) != name.value)


def fingerprint(certificate: bytes) -> bytes:
    """SHA-256 of a certificate in PEM."""
    try:
        return x509.load_pem_x509_certificate(certificate).fingerprint(SHA256())
    except ValueError as error:
        raise WeftError("What came for an authority is no certificate in PEM.") from error


def require_name(name: str) -> None:
    """Names in certificates are of at most 64 characters (RFC 5280); ours are names of hosts too."""
    if not is_user(name) or len(name) > 64 or not name.isascii() or " " in name:
        raise WeftError(f"{name!r} is no name for a certificate: give up to 64 letters, digits and signs like - and _.")


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: float, life: timedelta
) -> x509.CertificateBuilder:
    begin = datetime.fromtimestamp(now, UTC)
    return x509.CertificateBuilder(
        subject_name=subject,
        issuer_name=issuer,
        public_key=key,
        serial_number=x509.random_serial_number(),
        not_valid_before=begin - timedelta(seconds=EARLY),
        not_valid_after=begin + life,
    )


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _issuer_key(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """Tells apart authorities of one name."""
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(
        issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    )


def _purposes(role: Role) -> list[x509.ObjectIdentifier]:
    serves = [ExtendedKeyUsageOID.SERVER_AUTH] if role in (Role.MASTER, Role.NODE) else []
    return [*serves, ExtendedKeyUsageOID.CLIENT_AUTH]


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        if not text.isascii():
            raise WeftError(f"The host {text!r} is not ASCII: give its name in Punycode, or its address.") from None
        return x509.DNSName(text)


def _private(pem: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError) as error:
        raise WeftError("A private key cannot be read: give one in PEM, without a password.") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise WeftError("A private key is not of an elliptic curve: make it with `weft ca`.")
    return key


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
