//! Which addresses may be dialled at all.
//!
//! Plain HTTP stays on this machine; everything else is TLS. The check is made on the address as written and again on
//! what its name resolves to, so that a name cannot lead to a link-local address (where clouds keep their credentials)
//! nor a plain request off this machine. It decides nothing about who may use which model.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Refuses an address that may not be dialled; the error says what may.
pub(crate) fn check(url: &Url) -> Result<(), String> {
    let plain = match url.scheme() {
        "https" => false,
        "http" => true,
        _ => return Err("expected an address that begins with `https://` or `http://`".to_owned()),
    };
    let host = url.host_str().unwrap_or_default();
    let refusal = if plain {
        "plain `http://` is for this machine alone; expected `https://`, or a loopback address"
    } else {
        "the address may not be dialled; expected a host that is neither link-local, multicast nor unspecified"
    };
    let fits = match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        Ok(ip) => may_dial(ip, plain),
        Err(_) => !plain || host == "localhost" || host.ends_with(".localhost"),
    };
    if fits { Ok(()) } else { Err(refusal.to_owned()) }
}

/// Whether a resolved address may be dialled.
fn may_dial(ip: IpAddr, plain: bool) -> bool {
    let ip = ip.to_canonical();
    if plain {
        return ip.is_loopback();
    }
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(link_local || ip.is_unspecified() || ip.is_multicast())
}

/// Resolves names by the system and keeps only the addresses that may be dialled.
#[derive(Debug)]
pub(crate) struct Resolver {
    /// The request is plain HTTP.
    pub(crate) plain: bool,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let plain = self.plain;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let kept: Vec<SocketAddr> = found.filter(|address| may_dial(address.ip(), plain)).collect();
            if kept.is_empty() {
                return Err("the name leads to no address that may be dialled".into());
            }
            Ok(Box::new(kept.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str) -> bool {
        check(&Url::parse(text).expect(text)).is_ok()
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        for yes in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://[::1]:1",
            "http://localhost:1",
            "http://2130706433",
        ] {
            assert!(allowed(yes), "{yes}");
        }
        for no in [
            "http://10.0.0.1",
            "http://192.168.1.4:11434",
            "http://llm.example",
            "http://0.0.0.0:1",
            "http://localhost.example",
            "http://[::ffff:10.0.0.1]",
            "ftp://127.0.0.1",
            "unix:/run/x",
        ] {
            assert!(!allowed(no), "{no}");
        }
    }

    #[test]
    fn tls_goes_anywhere_but_to_link_local_addresses() {
        for yes in
            ["https://llm.example", "https://10.0.0.1/v1", "https://127.0.0.1", "https://[2001:db8::1]"]
        {
            assert!(allowed(yes), "{yes}");
        }
        for no in [
            "https://169.254.169.254",
            "https://[fe80::1]",
            "https://[::ffff:169.254.169.254]",
            "https://0.0.0.0",
            "https://[::]",
            "https://224.0.0.1",
        ] {
            assert!(!allowed(no), "{no}");
        }
    }

    #[test]
    fn a_name_is_judged_again_once_resolved() {
        assert!(may_dial("127.0.0.1".parse().unwrap(), true));
        assert!(!may_dial("93.184.216.34".parse().unwrap(), true));
        assert!(!may_dial("169.254.169.254".parse().unwrap(), false));
    }
}
