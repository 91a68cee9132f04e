//! The mask over the repository as bytes: records that end in NUL, in an order in which they can be applied.
use crate::wire::MaskEntry;

/// The records as bytes.
pub fn encode(entries: &[MaskEntry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        match entry {
            MaskEntry::Directory { path, mode, modified } => {
                out.extend_from_slice(format!("d {mode} {} {} ", modified.0, modified.1).as_bytes());
                out.extend_from_slice(path);
            }
            MaskEntry::Hidden { path } => {
                out.extend_from_slice(b"h ");
                out.extend_from_slice(path);
            }
        }
        out.push(0);
    }
    out
}

/// The records of [`encode`], or `None` when the bytes are anything else.
pub fn decode(bytes: &[u8]) -> Option<Vec<MaskEntry>> {
    if bytes.is_empty() {
        return Some(Vec::new());
    }
    bytes.strip_suffix(&[0])?.split(|byte| *byte == 0).map(record).collect()
}

fn record(bytes: &[u8]) -> Option<MaskEntry> {
    let entry = if let Some(path) = bytes.strip_prefix(b"h ") {
        MaskEntry::Hidden { path: path.to_vec() }
    } else {
        let mut parts = bytes.strip_prefix(b"d ")?.splitn(4, |byte| *byte == b' ');
        let mode = number(parts.next()?)?;
        let modified = (number(parts.next()?)?, number(parts.next()?)?);
        MaskEntry::Directory { path: parts.next()?.to_vec(), mode, modified }
    };
    let (MaskEntry::Directory { path, .. } | MaskEntry::Hidden { path }) = &entry;
    let sound = |part: &[u8]| !part.is_empty() && part != b"." && part != b"..";
    path.split(|byte| *byte == b'/').all(sound).then_some(entry)
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_as_it_went() {
        let entries = [
            MaskEntry::Directory { path: b"a b".to_vec(), mode: 0o755, modified: (-1, 5) },
            MaskEntry::Hidden { path: b"a b/\xffx \n".to_vec() },
        ];
        assert_eq!(decode(&encode(&entries)).as_deref(), Some(&entries[..]));
        assert_eq!(decode(b""), Some(Vec::new()));
    }

    #[test]
    fn refuses_paths_that_lead_out_and_cut_records() {
        for bytes in [&b"h ../x\0"[..], b"h /x\0", b"h a//b\0", b"h x", b"h \0", b"d 7 0 0\0", b"x y\0"] {
            assert_eq!(decode(bytes), None, "{bytes:?}");
        }
    }
}
