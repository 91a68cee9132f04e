//! The signing key of a deployment: Ed25519, the file `keys/sign.key`, made when it is first needed.
//!
//! It signs what leaves to be verified elsewhere. Its public half lies beside it, `keys/sign.pub`, to be handed on. Every
//! signature is bound to what it is for, so that none can be taken for another's.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

use crate::StoreError;
use crate::journal::chain::{hex, unhex};
use crate::place::{failed, open_private};
use crate::seal::random_secret;
use crate::store::Store;

const SECRET: &str = "enclos-sign-key-1 ";
const PUBLIC: &str = "enclos-sign-pub-1 ";

/// Signs for this deployment.
pub struct Signer(SigningKey);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// The public key, in 64 hexadecimal digits.
    pub fn public(&self) -> String {
        hex(self.0.verifying_key().as_bytes())
    }

    /// The signature of a message for a purpose, in 128 hexadecimal digits.
    pub fn sign(&self, purpose: &str, message: &[u8]) -> String {
        hex(&self.0.sign(&bound(purpose, message)).to_bytes())
    }
}

/// Whether a signature is that of this key (64 hexadecimal digits) over this message, for this purpose.
pub fn is_signed(public: &str, purpose: &str, message: &[u8], signature: &str) -> bool {
    let key = unhex(public.as_bytes()).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
    let halves = signature.as_bytes().split_at_checked(64);
    let halves = halves.and_then(|(first, second)| Some([unhex(first)?, unhex(second)?]));
    let (Some(key), Some([first, second])) = (key, halves) else { return false };
    let mut bytes = [0_u8; 64];
    for (to, from) in bytes.iter_mut().zip(first.iter().chain(&second)) {
        *to = *from;
    }
    key.verify_strict(&bound(purpose, message), &Signature::from_bytes(&bytes)).is_ok()
}

fn bound(purpose: &str, message: &[u8]) -> Vec<u8> {
    let mut bytes = format!("enclos-sign-1 {purpose}\0").into_bytes();
    bytes.extend_from_slice(message);
    bytes
}

/// Reads a public key as `keys/sign.pub` holds it, or its bare digits.
pub fn public_key(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.strip_prefix(PUBLIC).unwrap_or(text);
    unhex(digits.as_bytes()).map(|_| digits.to_owned())
}

impl Store {
    /// The signer of this deployment. The key is made at the first use.
    pub fn signer(&self) -> Result<Signer, StoreError> {
        let path = self.inner().place.sign_key();
        let secret = match read(&path)? {
            Some(secret) => secret,
            None => make(&path)?,
        };
        let signer = Signer(SigningKey::from_bytes(&secret));
        let public = self.inner().place.public_key();
        if !public.exists() {
            fs::write(&public, format!("{PUBLIC}{}\n", signer.public())).map_err(|e| failed(&public, &e))?;
        }
        Ok(signer)
    }

    /// Where the public key lies, once there is one.
    pub fn public_key_file(&self) -> PathBuf {
        self.inner().place.public_key()
    }
}

fn read(path: &Path) -> Result<Option<Zeroizing<[u8; 32]>>, StoreError> {
    let mut file = match open_private(path, false) {
        Ok(file) => file?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(path, &e)),
    };
    let mut text = Zeroizing::new(String::new());
    Read::by_ref(&mut file).take(256).read_to_string(&mut text).map_err(|e| failed(path, &e))?;
    let digits = text.strip_prefix(SECRET).and_then(|text| text.strip_suffix('\n'));
    let secret = digits.and_then(|digits| unhex(digits.as_bytes())).map(Zeroizing::new);
    secret.map(Some).ok_or_else(|| StoreError::Key { path: path.to_path_buf(), why: "is not a key file" })
}

/// Makes the key, or reads the one that another process made first.
fn make(path: &Path) -> Result<Zeroizing<[u8; 32]>, StoreError> {
    let secret = random_secret()?;
    let draft = path.with_extension(format!("key.{}", std::process::id()));
    let write = || {
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        let text = Zeroizing::new(format!("{SECRET}{}\n", hex(secret.as_slice())));
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        match fs::hard_link(&draft, path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    };
    let outcome: std::io::Result<()> = write();
    let removed = fs::remove_file(&draft);
    outcome.and(removed).map_err(|e| failed(path, &e))?;
    read(path)?.ok_or_else(|| StoreError::KeyMissing { path: path.to_path_buf() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_its_key_purpose_and_message_alone() {
        let dir = tempfile::tempdir().unwrap();
        let open = || Store::open(dir.path(), std::sync::Arc::new(crate::NoRedaction)).unwrap();
        let (signer, again) = (open().signer().unwrap(), open().signer().unwrap());
        assert_eq!(signer.public(), again.public());
        let signature = signer.sign("a", b"hello");
        assert!(is_signed(&signer.public(), "a", b"hello", &signature));
        assert!(!is_signed(&signer.public(), "b", b"hello", &signature));
        assert!(!is_signed(&signer.public(), "a", b"hallo", &signature));
        assert!(!is_signed(&"0".repeat(64), "a", b"hello", &signature));
        assert!(!is_signed(&signer.public(), "a", b"hello", &signature[1..]));
        let written = fs::read_to_string(open().public_key_file()).unwrap();
        assert_eq!(public_key(&written), Some(signer.public()));
        assert_eq!(public_key("nothing"), None);
    }
}
