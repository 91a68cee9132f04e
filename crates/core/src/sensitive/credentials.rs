//! Names of files that are there to hold a key, a password or a token. The name alone decides, as the least careful file
//! system would read it; a file of another name may hold one all the same.

use super::fold::folded;

/// Whole names.
const NAMES: [&str; 38] = [
    ".env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    ".dockerconfigjson",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".terraformrc",
    "terraform.rc",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "credentials.yml",
    "credentials.yaml",
    "client_secret.json",
    "service-account.json",
    "service_account.json",
    "application_default_credentials.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yml",
    "secrets.yaml",
    "master.key",
    "kubeconfig",
    "terraform.tfstate",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Beginnings of names.
const BEGINNINGS: [&str; 3] = [".env.", "terraform.tfstate.", "service-account-"];

/// Ends of names.
const ENDS: [&str; 16] = [
    ".env",
    ".pem",
    ".key",
    ".ppk",
    ".p12",
    ".pfx",
    ".p8",
    ".jks",
    ".keystore",
    ".kdbx",
    ".asc",
    ".gpg",
    ".tfvars",
    ".tfvars.json",
    ".ovpn",
    ".mobileprovision",
];

/// Folders that hold nothing else.
const FOLDERS: [&str; 8] =
    [".ssh", ".aws", ".azure", ".gnupg", ".kube", ".gcloud", ".password-store", "secrets"];

/// Whether the name of `path`, or of a folder on its way, is one of those that hold credentials.
pub fn holds_credentials(path: &str) -> bool {
    let parts: Vec<String> = path.split(['/', '\\']).filter(|part| !part.is_empty()).map(folded).collect();
    let Some((name, folders)) = parts.split_last() else { return false };
    NAMES.contains(&name.as_str())
        || BEGINNINGS.iter().any(|start| name.starts_with(start))
        || ENDS.iter().any(|end| name.ends_with(end))
        || folders.iter().any(|folder| FOLDERS.contains(&folder.as_str()))
}

#[cfg(test)]
mod tests {
    use super::holds_credentials;

    #[test]
    fn keys_passwords_and_tokens_are_known_by_their_names() {
        for path in [
            ".env",
            "app/.ENV.local",
            "prod.env",
            "tls/server.key",
            "a/b/ID_RSA",
            ".aws/config",
            "config/secrets/x.txt",
            "infra/prod.tfvars",
            "terraform.tfstate.backup",
            ".npmrc",
            "key.p\u{ff11}2",
        ] {
            assert!(holds_credentials(path), "{path}");
        }
        for path in ["data/a.csv", "environment.md", "keys.rs", "env/x", "secret.rs", "notes/key", ""] {
            assert!(!holds_credentials(path), "{path}");
        }
    }
}
