//! The C API from Rust, without crates: c_api DIGITS.onnx. Prints the ten numbers of one picture.
use std::ffi::{c_void, CStr, CString};
use std::os::raw::c_char;
use std::ptr;

#[repr(C)]
struct Tensor {
    dtype: i32,
    rank: u32,
    shape: *const i64,
    data: *mut c_void,
    byte_size: u64,
    memory: *mut c_void,
}

type Error = *mut c_void;

#[link(name = "deputy")]
extern "C" {
    fn DeputyErrorText(error: Error) -> *const c_char;
    fn DeputyErrorCode(error: Error) -> i32;
    fn DeputyErrorFree(error: Error);
    fn DeputyContextFromYaml(path: *const c_char, settings: *const *const c_char, count: usize, made: *mut *mut c_void) -> Error;
    fn DeputyContextFree(context: *mut c_void);
    fn DeputyModelFromFile(path: *const c_char, context: *const c_void, options: *const c_char, made: *mut *mut c_void) -> Error;
    fn DeputyModelFree(model: *mut c_void);
    fn DeputyModelCreateSession(model: *const c_void, made: *mut *mut c_void) -> Error;
    fn DeputySessionRun(session: *mut c_void, inputs: *const Tensor, count: usize, outputs: *mut Tensor, outputs_count: usize) -> Error;
    fn DeputySessionFree(session: *mut c_void);
    fn DeputyTensorRelease(tensor: *mut Tensor);
}

fn checked(error: Error) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // The text belongs to the error, and is copied before that is freed.
    unsafe {
        let text = CStr::from_ptr(DeputyErrorText(error)).to_string_lossy().into_owned();
        DeputyErrorFree(error);
        Err(text)
    }
}

fn classify(path: &str) -> Result<Vec<f32>, String> {
    let empty = CString::new("").unwrap();
    let path = CString::new(path).unwrap();
    let pixels: Vec<f32> = (0..784).map(|i| (i % 5) as f32 / 5.0).collect();
    let shape = [1i64, 1, 28, 28];
    let (mut context, mut model, mut session) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    unsafe {
        checked(DeputyContextFromYaml(empty.as_ptr(), ptr::null(), 0, &mut context))?;
        let built = checked(DeputyModelFromFile(path.as_ptr(), context, ptr::null(), &mut model));
        DeputyContextFree(context);
        built?;
        let created = checked(DeputyModelCreateSession(model, &mut session));
        DeputyModelFree(model);
        created?;
        let input = Tensor { dtype: 1, rank: 4, shape: shape.as_ptr(), data: pixels.as_ptr() as *mut c_void, byte_size: 3136, memory: ptr::null_mut() };
        let mut output = Tensor { dtype: 0, rank: 0, shape: ptr::null(), data: ptr::null_mut(), byte_size: 0, memory: ptr::null_mut() };
        let ran = checked(DeputySessionRun(session, &input, 1, &mut output, 1));
        let numbers = if ran.is_ok() { std::slice::from_raw_parts(output.data as *const f32, output.byte_size as usize / 4).to_vec() } else { Vec::new() };
        DeputyTensorRelease(&mut output);
        DeputySessionFree(session);
        ran.map(|()| numbers)
    }
}

fn main() {
    assert_eq!(unsafe { DeputyErrorCode(ptr::null_mut()) }, 0);
    let absent = classify("absent.onnx").unwrap_err();
    assert!(absent.starts_with("absent.onnx: cannot open"), "{absent}");
    let numbers = classify(&std::env::args().nth(1).expect("DIGITS.onnx")).unwrap();
    assert_eq!(numbers.len(), 10);
    println!("{numbers:?}");
}
