//! Prints the bindings' layout and numbers as a golden table has them.
mod deputy_abi;

fn main() {
    println!("abi {}.{}", deputy_abi::ABI_VERSION >> 16, deputy_abi::ABI_VERSION & 0xffff);
    for line in deputy_abi::layout() {
        println!("{}", line);
    }
    for (name, value) in deputy_abi::CONSTANTS {
        println!("enumerator {} {}", name, value);
    }
    for (name, text) in deputy_abi::TEXTS {
        println!("constant {} {:?}", name, std::str::from_utf8(text).unwrap());
    }
}
