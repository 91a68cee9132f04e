//! Tokens that show what they are: a prefix, the characters that follow, and at least how many.
//!
//! From the documentation of the services that issue them.

use super::Found;
use super::value::varied;

/// The longest token, in bytes.
const MAX_TAIL: usize = 16 * 1024;

/// The longest address with a token in it, in bytes after its host.
const MAX_ADDRESS: usize = 512;

/// The longest name before an infix, in bytes.
const MAX_NAME: usize = 64;

/// The characters of a token after its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tail {
    /// `A-Z a-z 0-9 _ -`
    Word,
    /// `0-9 a-f A-F`
    Hex,
    /// `A-Z 0-9 -`
    Upper,
    /// As `Word`, and `.`
    Dotted,
    /// As `Dotted`, and `+ / = ~ : %`
    Wide,
}

impl Tail {
    fn takes(self, byte: u8) -> bool {
        let word = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match self {
            Self::Word => word,
            Self::Hex => byte.is_ascii_hexdigit(),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-',
            Self::Dotted => word || byte == b'.',
            Self::Wide => word || b".+/=~:%".contains(&byte),
        }
    }
}

/// One kind of token.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) prefix: &'static str,
    kind: &'static str,
    tail: Tail,
    /// The fewest characters after the prefix.
    least: usize,
}

const fn shape(kind: &'static str, prefix: &'static str, tail: Tail, least: usize) -> Shape {
    Shape { prefix, kind, tail, least }
}

use Tail::{Dotted, Hex, Upper, Wide, Word};

/// The kinds of tokens.
pub(super) const SHAPES: &[Shape] = &[
    shape("github", "ghp_", Word, 16),
    shape("github", "gho_", Word, 16),
    shape("github", "ghu_", Word, 16),
    shape("github", "ghs_", Word, 16),
    shape("github", "ghr_", Word, 16),
    shape("github", "github_pat_", Word, 22),
    shape("gitlab", "glpat-", Dotted, 16),
    shape("gitlab", "gldt-", Word, 16),
    shape("gitlab", "glrt-", Dotted, 16),
    shape("gitlab", "glrtr-", Dotted, 16),
    shape("gitlab", "glptt-", Word, 16),
    shape("gitlab", "glft-", Word, 16),
    shape("gitlab", "glsoat-", Word, 16),
    shape("gitlab", "glimt-", Word, 16),
    shape("gitlab", "glagent-", Word, 16),
    shape("gitlab", "gloas-", Word, 16),
    shape("gitlab", "glcbt-", Word, 16),
    shape("gitlab", "glffct-", Word, 16),
    shape("gitlab", "_gitlab_session=", Word, 16),
    shape("gitlab", "GR1348941", Word, 16),
    shape("aws", "AKIA", Upper, 16),
    shape("aws", "ASIA", Upper, 16),
    shape("aws", "ABIA", Upper, 16),
    shape("aws", "ACCA", Upper, 16),
    shape("aws", "A3T", Upper, 17),
    shape("aws", "ABSK", Wide, 60),
    shape("aws", "bedrock-api-key-", Wide, 16),
    shape("slack", "xoxb-", Word, 16),
    shape("slack", "xoxp-", Word, 16),
    shape("slack", "xoxa-", Word, 8),
    shape("slack", "xoxr-", Word, 8),
    shape("slack", "xoxs-", Word, 8),
    shape("slack", "xoxo-", Word, 8),
    shape("slack", "xoxe-", Word, 16),
    shape("slack", "xoxe.xoxb-", Word, 16),
    shape("slack", "xoxe.xoxp-", Word, 16),
    shape("slack", "xapp-", Word, 16),
    shape("slack-webhook", "hooks.slack.com/", Wide, 24),
    shape("google", "AIza", Word, 30),
    shape("google", "ya29.", Word, 20),
    shape("google", "GOCSPX-", Word, 20),
    shape("openai", "sk-", Word, 20),
    shape("openai", "sess-", Word, 32),
    shape("anthropic", "sk-ant-", Word, 20),
    shape("npm", "npm_", Word, 30),
    shape("pypi", "pypi-", Word, 30),
    shape("stripe", "sk_live_", Word, 10),
    shape("stripe", "sk_test_", Word, 10),
    shape("stripe", "sk_prod_", Word, 10),
    shape("stripe", "rk_live_", Word, 10),
    shape("stripe", "rk_test_", Word, 10),
    shape("stripe", "rk_prod_", Word, 10),
    shape("stripe", "whsec_", Wide, 20),
    shape("jwt", "eyJ", Dotted, 30),
    shape("sendgrid", "SG.", Dotted, 40),
    shape("twilio", "SK", Hex, 32),
    shape("twilio", "AC", Hex, 32),
    shape("mailgun", "key-", Hex, 32),
    shape("sendinblue", "xkeysib-", Word, 40),
    shape("vault", "hvs.", Word, 24),
    shape("vault", "hvb.", Word, 24),
    shape("vault", "hvr.", Word, 24),
    shape("datadog", "ddapi_", Word, 20),
    shape("digitalocean", "dop_v1_", Hex, 40),
    shape("digitalocean", "doo_v1_", Hex, 40),
    shape("digitalocean", "dor_v1_", Hex, 40),
    shape("huggingface", "hf_", Word, 30),
    shape("huggingface", "api_org_", Word, 30),
    shape("rubygems", "rubygems_", Hex, 40),
    shape("linear", "lin_api_", Word, 30),
    shape("pulumi", "pul-", Hex, 40),
    shape("shopify", "shpat_", Hex, 30),
    shape("shopify", "shpca_", Hex, 30),
    shape("shopify", "shppa_", Hex, 30),
    shape("shopify", "shpss_", Hex, 30),
    shape("dynatrace", "dt0c01.", Dotted, 60),
    shape("newrelic", "NRAK-", Word, 20),
    shape("newrelic", "NRJS-", Word, 16),
    shape("newrelic", "NRII-", Word, 20),
    shape("postman", "PMAK-", Word, 40),
    shape("sourcegraph", "sgp_", Word, 36),
    shape("sourcegraph", "slk_", Word, 40),
    shape("sentry", "sntrys_", Wide, 40),
    shape("sentry", "sntryu_", Word, 40),
    shape("sonar", "squ_", Word, 30),
    shape("sonar", "sqp_", Word, 30),
    shape("sonar", "sqa_", Word, 30),
    shape("easypost", "EZAK", Word, 50),
    shape("easypost", "EZTK", Word, 50),
    shape("frameio", "fio-u-", Word, 50),
    shape("flyio", "fo1_", Word, 40),
    shape("flyio", "fm1_", Wide, 60),
    shape("flyio", "fm1a_", Wide, 60),
    shape("flyio", "fm1r_", Wide, 60),
    shape("flyio", "fm2_", Wide, 60),
    shape("grafana", "glc_", Wide, 32),
    shape("grafana", "glsa_", Word, 36),
    shape("grafana", "eyJrIjoi", Wide, 40),
    shape("terraform", ".atlasv1.", Wide, 50),
    shape("infracost", "ico-", Word, 30),
    shape("1password", "ops_eyJ", Wide, 60),
    shape("1password", "A3-", Upper, 30),
    shape("adobe", "p8e-", Word, 30),
    shape("adobe", "p8_", Word, 30),
    shape("databricks", "dapi", Word, 32),
    shape("doppler", "dp.pt.", Word, 40),
    shape("doppler", "dp.st.", Dotted, 40),
    shape("doppler", "dp.ct.", Word, 40),
    shape("duffel", "duffel_test_", Word, 40),
    shape("duffel", "duffel_live_", Word, 40),
    shape("docker", "dckr_pat_", Word, 20),
    shape("docker", "dckr_oat_", Word, 20),
    shape("planetscale", "pscale_tkn_", Dotted, 30),
    shape("planetscale", "pscale_oauth_", Dotted, 30),
    shape("planetscale", "pscale_pw_", Dotted, 30),
    shape("readme", "rdme_", Word, 60),
    shape("notion", "ntn_", Word, 40),
    shape("perplexity", "pplx-", Word, 40),
    shape("prefect", "pnu_", Word, 30),
    shape("age", "AGE-SECRET-KEY-1", Upper, 40),
    shape("openshift", "sha256~", Word, 40),
    shape("alibaba", "LTAI", Word, 16),
    shape("tencent", "AKID", Word, 32),
    shape("figma", "figd_", Word, 30),
    shape("contentful", "CFPAT-", Word, 40),
    shape("atlassian", "ATATT3", Wide, 60),
    shape("atlassian", "ATBB", Word, 28),
    shape("tailscale", "tskey-", Word, 20),
    shape("netlify", "nfp_", Word, 36),
    shape("replicate", "r8_", Word, 36),
    shape("groq", "gsk_", Word, 40),
    shape("xai", "xai-", Word, 60),
    shape("intra42", "s-s4t2ud-", Hex, 60),
    shape("intra42", "s-s4t2af-", Hex, 60),
    shape("langsmith", "lsv2_", Word, 40),
    shape("square", "sq0atp-", Word, 22),
    shape("square", "sq0csp-", Word, 40),
    shape("square", "EAAA", Word, 22),
    shape("facebook", "EAAB", Word, 60),
    shape("facebook", "EAAM", Word, 60),
    shape("facebook", "EAAC", Word, 60),
    shape("dropbox", "sl.", Word, 100),
    shape("typeform", "tfp_", Dotted, 40),
    shape("yandex", "AQVN", Word, 35),
    shape("yandex", "YCAJ", Word, 20),
    shape("yandex", "YC", Word, 38),
    shape("yandex", "t1.", Wide, 86),
    shape("artifactory", "AKCp", Word, 60),
    shape("artifactory", "cmVmd", Word, 58),
    shape("mapbox", "pk.", Dotted, 60),
    shape("mapbox", "sk.", Dotted, 60),
    shape("clojars", "CLOJARS_", Word, 50),
    shape("cloudflare", "v1.0-", Word, 100),
    shape("microsoft-teams", "webhook.office.com/webhookb2/", Wide, 60),
    shape("discord-webhook", "discord.com/api/webhooks/", Wide, 60),
    shape("harness", "pat.", Dotted, 50),
    shape("harness", "sat.", Dotted, 50),
    shape("lob", "live_", Hex, 35),
    shape("lob", "test_", Hex, 35),
    shape("settlemint", "sm_aat_", Word, 16),
    shape("settlemint", "sm_pat_", Word, 16),
    shape("settlemint", "sm_sat_", Word, 16),
    shape("scalingo", "tk-us-", Word, 40),
    shape("heroku", "HRKU-", Word, 30),
    shape("octopus", "API-", Upper, 26),
    shape("defined-networking", "dnkey-", Word, 40),
    shape("shippo", "shippo_live_", Hex, 40),
    shape("shippo", "shippo_test_", Hex, 40),
    shape("plaid", "access-sandbox-", Word, 30),
    shape("plaid", "access-development-", Word, 30),
    shape("plaid", "access-production-", Word, 30),
    shape("flutterwave", "FLWSECK_TEST-", Word, 12),
    shape("flutterwave", "FLWPUBK_TEST-", Word, 12),
    shape("vercel", "vcp_", Word, 24),
    shape("supabase", "sbp_", Hex, 40),
    shape("anyscale", "esecret_", Word, 20),
    shape("mistral", "mis_", Word, 32),
];

impl Shape {
    /// The token that begins at `start`, if one does.
    pub(super) fn find(&self, text: &str, start: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        let tail = bytes.get(start..)?.strip_prefix(self.prefix.as_bytes())?;
        let first = self.begin(bytes.get(..start)?)?;
        let most = if self.is_address() { MAX_ADDRESS } else { MAX_TAIL };
        let length = tail.iter().take(most).take_while(|byte| self.tail.takes(**byte)).count();
        let trailing = tail.get(..length)?.iter().rev().take_while(|byte| b".:".contains(byte)).count();
        let end = start + self.prefix.len() + length - trailing;
        let value = text.get(start + self.prefix.len()..end)?;
        let complete = self.kind != "jwt" || value.contains('.');
        let placeholder = value.to_ascii_uppercase().contains("EXAMPLE");
        (value.len() >= self.least && complete && !placeholder && varied(value))
            .then(|| Found::new(first, end, self.kind))
    }

    /// Whether the prefix is part of an address, so that anything may stand before it.
    fn is_address(&self) -> bool {
        self.prefix.contains('/')
    }

    /// Where a token with its prefix after `before` begins; `None` where the prefix is only part of a longer word.
    fn begin(&self, before: &[u8]) -> Option<usize> {
        if self.is_address() {
            return Some(before.len());
        }
        if self.prefix.starts_with('.') {
            let name =
                before.iter().rev().take(MAX_NAME).take_while(|byte| byte.is_ascii_alphanumeric()).count();
            return (10..MAX_NAME).contains(&name).then_some(before.len() - name);
        }
        let within = |byte: &u8| self.tail.takes(*byte) || byte.is_ascii_alphanumeric() || *byte == b'_';
        (!before.last().is_some_and(within)).then_some(before.len())
    }
}
