// What the references use of the crates rand, regex and md5: rustc alone has none of them.
#[allow(dead_code)]
mod rand {
    pub trait Rng {
        fn gen_range<T: Whole>(&mut self, low: T, high: T) -> T;
        fn gen<T: Whole>(&mut self) -> T {
            T::narrow(self.gen_range(0i64, 1 << 31))
        }
    }
    pub trait Whole: Copy {
        fn wide(self) -> i64;
        fn narrow(value: i64) -> Self;
    }
    macro_rules! whole { ($($t:ty),*) => { $(impl Whole for $t {
        fn wide(self) -> i64 { self as i64 }
        fn narrow(value: i64) -> Self { value as $t }
    })* } }
    whole!(u8, i32, u32, i64, usize);
    pub struct Generator(u64);
    impl Rng for Generator {
        fn gen_range<T: Whole>(&mut self, low: T, high: T) -> T {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            T::narrow(low.wide() + (self.0 >> 33) as i64 % (high.wide() - low.wide()))
        }
    }
    pub fn thread_rng() -> Generator {
        use std::sync::atomic::{AtomicU64, Ordering};
        static STATE: AtomicU64 = AtomicU64::new(1);
        Generator(STATE.fetch_add(0x9e3779b97f4a7c15, Ordering::Relaxed))
    }
    pub fn random<T: Whole>() -> T {
        T::narrow(thread_rng().gen_range(0i64, 1i64 << 31))
    }
}
#[allow(dead_code)]
mod regex {
    // Only the pattern of the one reference that has one: an end of a sentence and spaces.
    pub struct Regex;
    impl Regex {
        pub fn new(pattern: &str) -> Result<Regex, String> {
            if pattern == r"[.?!]\s*" { Ok(Regex) } else { Err(pattern.to_string()) }
        }
        pub fn split<'t>(&self, text: &'t str) -> std::vec::IntoIter<&'t str> {
            let mut parts: Vec<&str> = text.split(|c| ".?!".contains(c)).collect();
            for part in parts.iter_mut().skip(1) { *part = part.trim_start(); }
            parts.into_iter()
        }
    }
}
#[allow(dead_code)]
mod md5 {
    pub struct Digest(pub [u8; 16]);
    impl std::fmt::LowerHex for Digest {
        fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            self.0.iter().try_for_each(|byte| write!(f, "{:02x}", byte))
        }
    }
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    pub fn compute(text: impl AsRef<[u8]>) -> Digest {
        let mut data = text.as_ref().to_vec();
        let bits = (data.len() as u64) * 8;
        data.push(0x80);
        while data.len() % 64 != 56 { data.push(0); }
        data.extend_from_slice(&bits.to_le_bytes());
        let mut state = [0x67452301u32, 0xefcdab89, 0x98badcfe, 0x10325476];
        for block in data.chunks(64) {
            let [mut a, mut b, mut c, mut d] = state;
            for i in 0..64usize {
                let (mix, at) = match i / 16 {
                    0 => ((b & c) | (!b & d), i),
                    1 => ((d & b) | (!d & c), 5 * i + 1),
                    2 => (b ^ c ^ d, 3 * i + 5),
                    _ => (c ^ (b | !d), 7 * i),
                };
                let at = at % 16 * 4;
                let word = u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
                let key = (((i + 1) as f64).sin().abs() * 4294967296.0) as u32;
                let sum = a.wrapping_add(mix).wrapping_add(key).wrapping_add(word);
                (a, d, c) = (d, c, b);
                b = b.wrapping_add(sum.rotate_left(TURNS[i / 16][i % 4]));
            }
            for (old, new) in state.iter_mut().zip([a, b, c, d]) { *old = old.wrapping_add(new); }
        }
        let mut bytes = [0; 16];
        for (i, word) in state.iter().enumerate() {
            bytes[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
        }
        Digest(bytes)
    }
}
