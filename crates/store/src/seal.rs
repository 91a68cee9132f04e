//! Keys of a session: what seals its content, and what commits to it.
//!
//! A session has one random data key. From it come a key that seals content (XChaCha20-Poly1305, bound to session and
//! place, so that nothing sealed can be moved) and a key for commitments (HMAC-SHA-256, because a short prompt could
//! be guessed from a bare hash). The data key lies in the database wrapped by the master key; when the wrapped key is
//! destroyed, content and commitments are gone and the journal still verifies.

use chacha20poly1305::aead::{Aead, KeyInit as _, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use enclos_core::ids::{Digest, SessionId};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::StoreError;
use crate::journal::chain::hex;

/// 32 secret bytes, wiped when dropped.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

const NONCE_BYTES: usize = 24;

/// Fresh secret bytes from the system.
pub(crate) fn random_secret() -> Result<Secret, StoreError> {
    let mut secret = Zeroizing::new([0_u8; 32]);
    getrandom::fill(secret.as_mut_slice()).map_err(|e| StoreError::Random(e.to_string()))?;
    Ok(secret)
}

/// HMAC-SHA-256 of several parts, each led by its length.
pub(crate) fn mac(key: &Secret, parts: &[&[u8]]) -> Secret {
    let mut hmac = keyed(key);
    for part in parts {
        hmac.update(&(part.len() as u64).to_be_bytes());
        hmac.update(part);
    }
    Zeroizing::new(hmac.finalize().into_bytes().into())
}

/// A key of 32 bytes, padded with zeros to the block as HMAC itself does.
fn keyed(key: &Secret) -> Hmac<Sha256> {
    let mut block = Zeroizing::new([0_u8; 64]);
    for (to, from) in block.iter_mut().zip(key.iter()) {
        *to = *from;
    }
    Hmac::new(&(*block).into())
}

/// Seals bytes under a key, bound to `place`. The nonce is random and leads the result.
pub(crate) fn seal(key: &Secret, place: &[u8], clear: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut nonce = [0_u8; NONCE_BYTES];
    getrandom::fill(&mut nonce).map_err(|e| StoreError::Random(e.to_string()))?;
    let sealed = cipher(key)
        .encrypt(&XNonce::from(nonce), Payload { msg: clear, aad: place })
        .map_err(|_| StoreError::Random("the cipher refused the length".to_owned()))?;
    let mut out = Vec::with_capacity(NONCE_BYTES + sealed.len());
    out.extend_from_slice(&nonce);
    out.extend_from_slice(&sealed);
    Ok(out)
}

/// Opens what [`seal`] made; `None` when key, place or bytes differ.
pub(crate) fn open(key: &Secret, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    cipher(key).decrypt(&XNonce::from(*nonce), Payload { msg: sealed, aad: place }).ok()
}

fn cipher(key: &Secret) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(&Key::from(**key))
}

/// The place that something sealed belongs to.
fn place(what: &str, session: &SessionId, seq: u64) -> Vec<u8> {
    let mut out = b"enclos-seal-1\0".to_vec();
    for part in [what, session.as_str()] {
        out.extend_from_slice(&(part.len() as u64).to_be_bytes());
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(&seq.to_be_bytes());
    out
}

/// The keys of one session.
pub(crate) struct SessionKeys {
    session: SessionId,
    data: Secret,
    content: Secret,
    commit: CommitKey,
}

impl SessionKeys {
    /// Keys for a new session.
    pub(crate) fn generate(session: SessionId) -> Result<Self, StoreError> {
        Ok(Self::derive(session, random_secret()?))
    }

    fn derive(session: SessionId, data: Secret) -> Self {
        let content = mac(&data, &[b"enclos-content-key-1", session.as_str().as_bytes()]);
        let commit = CommitKey(mac(&data, &[b"enclos-commit-key-1", session.as_str().as_bytes()]));
        Self { session, data, content, commit }
    }

    /// The data key as it lies in the database.
    pub(crate) fn wrap(&self, master: &Secret) -> Result<Vec<u8>, StoreError> {
        seal(master, &place("key", &self.session, 0), self.data.as_slice())
    }

    /// The keys from what lies in the database.
    pub(crate) fn unwrap(session: &SessionId, master: &Secret, wrapped: &[u8]) -> Result<Self, StoreError> {
        let refused = || StoreError::Seal { session: session.clone(), what: "the key" };
        let data =
            open(master, &place("key", session, 0), wrapped).map(Zeroizing::new).ok_or_else(refused)?;
        let data: [u8; 32] = data.as_slice().try_into().map_err(|_| refused())?;
        Ok(Self::derive(session.clone(), Zeroizing::new(data)))
    }

    /// Seals the content of entry `seq`.
    pub(crate) fn seal_content(&self, seq: u64, clear: &[u8]) -> Result<Vec<u8>, StoreError> {
        seal(&self.content, &place("content", &self.session, seq), clear)
    }

    /// Opens the content of entry `seq`.
    pub(crate) fn open_content(&self, seq: u64, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        open(&self.content, &place("content", &self.session, seq), sealed).ok_or_else(|| StoreError::Seal {
            session: self.session.clone(),
            what: "the content of an entry",
        })
    }

    /// Seals what the gateway keeps about the session.
    pub(crate) fn seal_extra(&self, clear: &[u8]) -> Result<Vec<u8>, StoreError> {
        seal(&self.content, &place("extra", &self.session, 0), clear)
    }

    /// Opens what the gateway keeps about the session.
    pub(crate) fn open_extra(&self, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        open(&self.content, &place("extra", &self.session, 0), sealed)
            .ok_or_else(|| StoreError::Seal { session: self.session.clone(), what: "the description" })
    }

    /// The key for commitments.
    pub(crate) fn commit_key(&self) -> &CommitKey {
        &self.commit
    }
}

/// Seals files of a session that lie beside the database, and opens them again. What it sealed cannot be opened under
/// another name or for another session, nor once the key of the session is erased.
#[derive(Clone)]
pub struct Sealer(std::sync::Arc<SessionKeys>);

impl Sealer {
    pub(crate) fn new(keys: std::sync::Arc<SessionKeys>) -> Self {
        Self(keys)
    }

    /// Seals the bytes of a file of this name.
    pub fn seal(&self, name: &str, clear: &[u8]) -> Result<Vec<u8>, StoreError> {
        seal(&self.0.content, &place(&format!("file {name}"), &self.0.session, 0), clear)
    }

    /// Opens what [`Self::seal`] made; anything else is refused.
    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        open(&self.0.content, &place(&format!("file {name}"), &self.0.session, 0), sealed)
            .ok_or_else(|| StoreError::Seal { session: self.0.session.clone(), what: "a file" })
    }

    /// The key that commits to content of this session.
    pub fn commit_key(&self) -> &CommitKey {
        &self.0.commit
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer")
    }
}

/// Commits to content without telling it: equal content of one session gives equal digests, and without the key
/// nothing can be guessed.
#[derive(Clone)]
pub struct CommitKey(Secret);

impl CommitKey {
    /// The digest, `hmac-sha256:` and 64 hexadecimal digits.
    pub fn digest(&self, content: &[u8]) -> Digest {
        let mut hmac = keyed(&self.0);
        hmac.update(content);
        let bytes: [u8; 32] = hmac.finalize().into_bytes().into();
        Digest::new(format!("hmac-sha256:{}", hex(&bytes)))
    }
}

impl std::fmt::Debug for CommitKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CommitKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> SessionKeys {
        SessionKeys::derive(SessionId::new("sess_a"), Zeroizing::new([7; 32]))
    }

    #[test]
    fn content_opens_only_in_its_place() {
        let keys = keys();
        let sealed = keys.seal_content(3, b"hello").unwrap();
        assert_eq!(keys.open_content(3, &sealed).unwrap(), b"hello");
        assert!(keys.open_content(4, &sealed).is_err());
        assert!(keys.open_extra(&sealed).is_err());
        let other = SessionKeys::derive(SessionId::new("sess_b"), Zeroizing::new([7; 32]));
        assert!(other.open_content(3, &sealed).is_err());
        for at in 0..sealed.len() {
            let mut bad = sealed.clone();
            bad[at] ^= 1;
            assert!(keys.open_content(3, &bad).is_err(), "byte {at}");
        }
        assert!(keys.open_content(3, &sealed[..10]).is_err());
    }

    #[test]
    fn a_key_unwraps_under_its_own_master_and_session() {
        let master = random_secret().unwrap();
        let wrapped = keys().wrap(&master).unwrap();
        let again = SessionKeys::unwrap(&SessionId::new("sess_a"), &master, &wrapped).unwrap();
        assert_eq!(again.commit.digest(b"x"), keys().commit.digest(b"x"));
        assert!(SessionKeys::unwrap(&SessionId::new("sess_b"), &master, &wrapped).is_err());
        assert!(SessionKeys::unwrap(&SessionId::new("sess_a"), &random_secret().unwrap(), &wrapped).is_err());
    }

    #[test]
    fn commitments_are_plain_hmac() {
        // RFC 4231 test case 2 uses a shorter key; HMAC pads both with zeros.
        let mut key = [0_u8; 32];
        key[..4].copy_from_slice(b"Jefe");
        let digest = CommitKey(Zeroizing::new(key)).digest(b"what do ya want for nothing?");
        assert_eq!(
            digest.as_str(),
            "hmac-sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_file_opens_under_its_own_name_alone() {
        let files = Sealer::new(std::sync::Arc::new(keys()));
        let sealed = files.seal("a", b"hello").unwrap();
        assert_eq!(files.open("a", &sealed).unwrap(), b"hello");
        assert!(files.open("b", &sealed).is_err());
        assert!(files.open("a", &sealed[..sealed.len() - 1]).is_err());
        assert!(!sealed.windows(5).any(|window| window == b"hello"));
        let other = SessionKeys::derive(SessionId::new("sess_b"), Zeroizing::new([7; 32]));
        assert!(Sealer::new(std::sync::Arc::new(other)).open("a", &sealed).is_err());
    }

    #[test]
    fn keys_are_not_shown() {
        assert_eq!(format!("{:?}", keys().commit_key()), "CommitKey");
    }
}
