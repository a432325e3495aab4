//! A compressed file, decompressed into one without a name: with holes where there are zeros, so that
//! an image that is mostly empty takes little room, and in memory that does not grow with it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use crate::checksum::{Algorithm, Checksum, Summer};
use crate::compression::Compression;

const CHUNK: usize = 128 << 10;
/// How a whole file of xz ends, but for padding.
const XZ_FOOTER: &[u8] = b"YZ";

/// What came out, and what went in.
#[derive(Debug)]
pub struct Unpacked {
    /// The size of what came out.
    pub size: u64,
    /// Its checksum.
    pub checksum: Checksum,
    /// The checksum of what went in.
    pub published: Checksum,
}

/// Decompresses all of a file into another, or copies it if it is not compressed, and goes to the
/// beginning of what came out. `algorithm` is that of what goes in.
///
/// # Errors
/// When it is not compressed so, ends early, or there is no room.
pub fn unpack(
    input: impl Read,
    compression: Option<Compression>,
    algorithm: Algorithm,
    output: &mut File,
) -> io::Result<Unpacked> {
    let mut tee = Tee { input, summer: Summer::new(algorithm), end: Vec::new() };
    let mut out = Sparse { file: output, size: 0, summer: Summer::new(Algorithm::Sha256) };
    {
        // decoders read single bytes; the checksum is of what went by in any case
        let mut buffered = BufReader::with_capacity(CHUNK, &mut tee);
        match compression {
            Some(Compression::Xz) => out.fill(&mut XzReader::new(&mut buffered, true))?,
            Some(Compression::Gz) => out.fill(&mut MultiGzDecoder::new(&mut buffered))?,
            Some(Compression::Bz2) => out.fill(&mut MultiBzDecoder::new(&mut buffered))?,
            Some(Compression::Zst) => frames(&mut buffered, &mut out)?,
            None => out.fill(&mut buffered)?,
        }
        // what stands after the end belongs to the file as well
        io::copy(&mut buffered, &mut io::sink())?;
    }
    // the decoder is content when the index and the footer are missing; the file is not whole then
    if compression == Some(Compression::Xz) && !tee.end.ends_with(XZ_FOOTER) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    out.file.set_len(out.size)?;
    out.file.seek(SeekFrom::Start(0))?;
    Ok(Unpacked { size: out.size, checksum: out.summer.done(), published: tee.summer.done() })
}

/// A file of Zstandard is one frame or several, some of which may hold nothing.
fn frames(input: &mut impl BufRead, out: &mut Sparse<'_>) -> io::Result<()> {
    let mut first = true;
    while first || !input.fill_buf()?.is_empty() {
        first = false;
        match StreamingDecoder::new(&mut *input) {
            Ok(mut decoder) => {
                out.fill(&mut decoder)?;
                let (said, found) = (
                    decoder.decoder.get_checksum_from_data(),
                    decoder.decoder.get_calculated_checksum(),
                );
                if said.is_some() && said != found {
                    let text = "the checksum of a frame is wrong";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut input.by_ref().take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        }
    }
    Ok(())
}

/// Takes the checksum of what goes by.
struct Tee<R> {
    input: R,
    summer: Summer,
    /// The last bytes that are no padding.
    end: Vec<u8>,
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let bytes = &buffer[..read];
        self.summer.add(bytes);
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            self.end.extend_from_slice(&bytes[last.saturating_sub(1)..=last]);
            self.end.drain(..self.end.len().saturating_sub(2));
        }
        Ok(read)
    }
}

/// A file that is written with holes.
struct Sparse<'a> {
    file: &'a mut File,
    size: u64,
    summer: Summer,
}

impl Sparse<'_> {
    fn fill(&mut self, from: &mut impl Read) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        loop {
            let read = from.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            let bytes = &chunk[..read];
            self.summer.add(bytes);
            if bytes.iter().all(|byte| *byte == 0) {
                self.file.seek(SeekFrom::Start(self.size + read as u64))?;
            } else {
                self.file.write_all(bytes)?;
            }
            self.size += read as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn compressed(program: &str, bytes: &[u8]) -> Vec<u8> {
        let mut input = tempfile::tempfile().unwrap();
        input.write_all(bytes).unwrap();
        input.rewind().unwrap();
        let output =
            Command::new(program).arg("-c").stdin(input).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success());
        output.stdout
    }

    fn unpacked(bytes: &[u8], compression: Compression) -> io::Result<(Vec<u8>, Unpacked)> {
        let mut file = tempfile::tempfile().unwrap();
        let unpacked = unpack(bytes, Some(compression), Algorithm::Sha512, &mut file)?;
        let mut all = Vec::new();
        file.read_to_end(&mut all).unwrap();
        Ok((all, unpacked))
    }

    const FORMATS: [(&str, Compression); 4] = [
        ("xz", Compression::Xz),
        ("zstd", Compression::Zst),
        ("gzip", Compression::Gz),
        ("bzip2", Compression::Bz2),
    ];

    /// An image as images are: something, nothing for long, something.
    fn image() -> Vec<u8> {
        let mut image: Vec<u8> = (0..90_000_u32).map(|at| ((at * 7919) >> 5) as u8).collect();
        image.resize(3_000_000, 0);
        image.extend_from_slice(b"the end");
        image.resize(4_000_000, 0);
        image
    }

    #[test]
    fn what_was_packed_comes_out_with_holes() {
        let image = image();
        for (program, compression) in FORMATS {
            let packed = compressed(program, &image);
            // one after the other is one as well
            let twice = [packed.clone(), packed.clone()].concat();
            let (all, told) = unpacked(&packed, compression).unwrap();
            assert!(all == image, "{program}");
            let mut sum = Summer::new(Algorithm::Sha256);
            sum.add(&image);
            assert_eq!((told.size, told.checksum), (4_000_000, sum.done()), "{program}");
            let mut sum = Summer::new(Algorithm::Sha512);
            sum.add(&packed);
            assert_eq!(told.published, sum.done(), "{program}");
            assert!(unpacked(&twice, compression).unwrap().0 == [&image[..], &image].concat());
        }
    }

    #[test]
    fn room_is_taken_by_what_is_not_zero() {
        use std::os::unix::fs::MetadataExt;
        let packed = compressed("gzip", &image());
        let mut file = tempfile::tempfile().unwrap();
        unpack(&packed[..], Some(Compression::Gz), Algorithm::Sha256, &mut file).unwrap();
        let data = file.metadata().unwrap();
        assert!(data.len() == 4_000_000 && data.blocks() * 512 < 1_500_000, "{}", data.blocks());
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        let image = image();
        for (program, compression) in FORMATS {
            let packed = compressed(program, &image);
            for length in [0, 1, 10, packed.len() / 2, packed.len() - 20, packed.len() - 1] {
                let cut = unpacked(&packed[..length], compression);
                assert!(cut.is_err(), "{program} of {length} of {} bytes", packed.len());
            }
            let followed = [&packed[..], b"something else entirely"].concat();
            assert!(unpacked(&followed, compression).is_err(), "{program} and more");
            let mut broken = packed.clone();
            broken[packed.len() / 2] ^= 0x55;
            assert!(unpacked(&broken, compression).is_err(), "{program} broken");
            assert!(unpacked(b"<html>not found</html>", compression).is_err(), "{program}");
        }
    }
}
