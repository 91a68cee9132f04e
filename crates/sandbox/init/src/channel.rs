//! Frames on a sequenced-packet socket, with descriptors. A frame is whole or it is an error: lengths are checked,
//! truncation of bytes or of descriptors is refused, and a body that is too long for one packet travels in a sealed
//! file in memory whose size must be the length announced.
use crate::wire::Kind;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Longest body inside a packet, in bytes.
const INLINE: usize = 60 * 1024;
/// Longest body of all, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;
/// Most descriptors of one frame, the body's own included.
const DESCRIPTORS: usize = 8;
const HEADER: usize = 16;

/// One frame as received.
#[derive(Debug)]
pub struct Frame {
    /// What it carries.
    pub kind: Kind,
    /// The request it belongs to; 0 for none.
    pub id: u32,
    /// Its body, complete.
    pub body: Vec<u8>,
    /// Its descriptors, close-on-exec.
    pub fds: Vec<OwnedFd>,
}

/// Sends one frame.
pub fn send(socket: impl AsFd, kind: Kind, id: u32, body: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut header = [0u8; HEADER];
    header[..4].copy_from_slice(&(kind as u32).to_le_bytes());
    header[4..8].copy_from_slice(&id.to_le_bytes());
    header[8..].copy_from_slice(&(body.len() as u64).to_le_bytes());
    if body.len() as u64 > LONGEST || fds.len() >= DESCRIPTORS {
        return Err(bad("a frame is too long"));
    }
    if body.len() <= INLINE {
        return packet(socket.as_fd(), &header, body, fds);
    }
    let file = sealed(c"body", body)?;
    let mut all = fds.to_vec();
    all.push(file.as_fd());
    packet(socket.as_fd(), &header, &[], &all)
}

/// Bytes in a file in memory that nobody can change any more.
pub fn sealed(name: &std::ffi::CStr, mut bytes: &[u8]) -> io::Result<OwnedFd> {
    sealed_from(name, &mut bytes)
}

/// A file in memory of all that can be read, which nobody can change any more.
pub fn sealed_from(name: &std::ffi::CStr, bytes: &mut dyn Read) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(fd);
    io::copy(bytes, &mut file)?;
    file.rewind()?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

fn packet(socket: BorrowedFd<'_>, header: &[u8], body: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(bad("a frame has too many descriptors"));
    }
    let parts = [IoSlice::new(header), IoSlice::new(body)];
    let sent = loop {
        match rustix::net::sendmsg(socket, &parts, &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if sent == header.len() + body.len() { Ok(()) } else { Err(bad("a frame was sent in part")) }
}

/// Receives one frame; `None` when the other side is gone.
pub fn receive(socket: impl AsFd) -> io::Result<Option<Frame>> {
    let mut bytes = vec![0u8; HEADER + INLINE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut reset = false;
    let message = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(socket.as_fd(), &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            // The other side ended with something unread. What it said before can still be had, the error is told once.
            Err(Errno::CONNRESET) if !reset => reset = true,
            Err(Errno::CONNRESET) => return Ok(None),
            other => break other?,
        }
    };
    let mut fds: Vec<OwnedFd> = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            fds.extend(rights);
        }
    }
    if message.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC) {
        return Err(bad("a frame arrived in part"));
    }
    if message.bytes == 0 {
        return Ok(None);
    }
    bytes.truncate(message.bytes);
    frame(bytes, fds).map(Some)
}

fn frame(mut bytes: Vec<u8>, mut fds: Vec<OwnedFd>) -> io::Result<Frame> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Err(bad("a frame has no header"));
    };
    let [k0, k1, k2, k3, i0, i1, i2, i3, length @ ..] = *header;
    let length = u64::from_le_bytes(length);
    let kind = Kind::from_number(u32::from_le_bytes([k0, k1, k2, k3]))
        .ok_or_else(|| bad("a frame is of an unknown kind"))?;
    let id = u32::from_le_bytes([i0, i1, i2, i3]);
    let body = if length > INLINE as u64 {
        if !rest.is_empty() {
            return Err(bad("a frame has two bodies"));
        }
        beside(fds.pop(), length)?
    } else if rest.len() as u64 == length {
        bytes.split_off(HEADER)
    } else {
        return Err(bad("a frame is not as long as it says"));
    };
    Ok(Frame { kind, id, body, fds })
}

fn beside(fd: Option<OwnedFd>, length: u64) -> io::Result<Vec<u8>> {
    let file = File::from(fd.ok_or_else(|| bad("a frame misses its body"))?);
    if length > LONGEST || file.metadata()?.len() != length {
        return Err(bad("a body is not as long as its frame says"));
    }
    let mut body = Vec::new();
    // The descriptor shares its offset with the sender's, who left it at the start.
    (&file).take(length + 1).read_to_end(&mut body)?;
    if body.len() as u64 == length { Ok(body) } else { Err(bad("a body is cut")) }
}

/// JSON and, behind it, raw bytes, as one body.
pub fn pack(json: &[u8], blob: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + json.len() + blob.len());
    out.extend_from_slice(&(json.len() as u64).to_le_bytes());
    out.extend_from_slice(json);
    out.extend_from_slice(blob);
    out
}

/// The two parts of a [`pack`].
pub fn unpack(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
}

fn bad(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};

    fn pair() -> (OwnedFd, OwnedFd) {
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .expect("a pair")
    }

    #[test]
    fn short_and_long_bodies_arrive_whole() {
        let (a, b) = pair();
        for size in [0, 1, INLINE, INLINE + 1, 3_000_000] {
            let body: Vec<u8> = (0..size).map(|i| u8::try_from(i % 251).unwrap_or(0)).collect();
            send(&a, Kind::Run, 7, &body, &[a.as_fd(), b.as_fd()]).expect("sent");
            let frame = receive(&b).expect("received").expect("a frame");
            assert_eq!((frame.kind, frame.id, frame.fds.len()), (Kind::Run, 7, 2));
            assert_eq!(frame.body, body);
        }
        drop(a);
        assert!(receive(&b).expect("end").is_none());
    }

    #[test]
    fn last_words_are_heard() {
        let (a, b) = pair();
        send(&b, Kind::Run, 1, b"never read", &[]).expect("sent");
        send(&a, Kind::Failed, 2, b"why", &[]).expect("sent");
        drop(a);
        assert_eq!(receive(&b).expect("received").expect("a frame").body, b"why");
        assert!(receive(&b).expect("end").is_none());
    }

    #[test]
    fn what_is_cut_or_unknown_is_refused() {
        let (a, b) = pair();
        let raw = |bytes: &[u8]| {
            rustix::net::send(&a, bytes, SendFlags::empty()).expect("sent");
            receive(&b).is_err()
        };
        assert!(raw(b"short"));
        assert!(raw(&[9; HEADER]));
        let mut longer = vec![0; HEADER];
        longer[0] = 4;
        longer[8] = 5;
        assert!(raw(&longer), "announces five bytes, has none");
        longer[12] = 1;
        assert!(raw(&longer), "announces a body beside it, has no descriptor");
        assert!(raw(&vec![4; HEADER + INLINE + 1]), "longer than a packet may be");
    }

    #[test]
    fn packs_and_unpacks() {
        assert_eq!(unpack(&pack(b"{}", b"\0x")), Some((&b"{}"[..], &b"\0x"[..])));
        assert_eq!(unpack(&[1, 0, 0]), None);
        assert_eq!(unpack(&[9, 0, 0, 0, 0, 0, 0, 0, 1]), None);
    }
}
