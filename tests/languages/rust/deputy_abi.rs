//! Bindings of the plugin ABI by hand, as far as small.rs needs them. `layout()` says what a golden table says, so that
//! a test can hold these structs against the headers. Functions that a plugin never calls are plain pointers here.
#![allow(dead_code)]

use core::ffi::c_void;
use std::os::raw::c_char;

pub const ABI_VERSION: u32 = 2; // 0.2
/// As DEPUTY_ABI_MIN_HOST: from 1.0 on any host of the major number.
pub const ABI_MIN_HOST: u32 = if ABI_VERSION >> 16 > 0 { ABI_VERSION & 0xffff_0000 } else { ABI_VERSION };

pub const INVALID_ARGUMENT: i32 = 3;
pub const NOT_FOUND: i32 = 5;
pub const NOT_SUPPORTED: i32 = 12;
pub const OUT_OF_MEMORY: i32 = 8;
pub const INTERNAL: i32 = 13;
pub const NO_NODE: u32 = 0xffff_ffff;

pub const DTYPE_FLOAT32: i32 = 1;
pub const NODE_OFFERED: u32 = 1;
pub const VALUE_CONSTANT: u32 = 4;
pub const VALUE_SHAPE_KNOWN: u32 = 8;

pub const REASON_SUPPORTED: u32 = 0;
pub const REASON_OPERATOR_UNKNOWN: u32 = 1;
pub const REASON_DEFINITION_TOO_NEW: u32 = 2;
pub const REASON_DTYPE: u32 = 3;
pub const REASON_SHAPE_DYNAMIC: u32 = 5;
pub const REASON_SHAPE: u32 = 8;
pub const REASON_OTHER: u32 = 10;

pub const OPEN_COMPILE_ONLY: u32 = 1;

pub const OPTION_INT: u32 = 2;
pub const OPTION_ENUM: u32 = 5;
pub const EXT_OPTIONS: &[u8] = b"deputy.options/1";

/// What the golden table calls NAME, for the layout test.
pub const CONSTANTS: &[(&str, i64)] = &[
    ("DEPUTY_INVALID_ARGUMENT", INVALID_ARGUMENT as i64),
    ("DEPUTY_NOT_FOUND", NOT_FOUND as i64),
    ("DEPUTY_NOT_SUPPORTED", NOT_SUPPORTED as i64),
    ("DEPUTY_OUT_OF_MEMORY", OUT_OF_MEMORY as i64),
    ("DEPUTY_INTERNAL", INTERNAL as i64),
    ("DEPUTY_NO_NODE", NO_NODE as i64),
    ("DEPUTY_DTYPE_FLOAT32", DTYPE_FLOAT32 as i64),
    ("DEPUTY_NODE_OFFERED", NODE_OFFERED as i64),
    ("DEPUTY_VALUE_CONSTANT", VALUE_CONSTANT as i64),
    ("DEPUTY_VALUE_SHAPE_KNOWN", VALUE_SHAPE_KNOWN as i64),
    ("DEPUTY_REASON_SUPPORTED", REASON_SUPPORTED as i64),
    ("DEPUTY_REASON_OPERATOR_UNKNOWN", REASON_OPERATOR_UNKNOWN as i64),
    ("DEPUTY_REASON_DEFINITION_TOO_NEW", REASON_DEFINITION_TOO_NEW as i64),
    ("DEPUTY_REASON_DTYPE", REASON_DTYPE as i64),
    ("DEPUTY_REASON_SHAPE_DYNAMIC", REASON_SHAPE_DYNAMIC as i64),
    ("DEPUTY_REASON_SHAPE", REASON_SHAPE as i64),
    ("DEPUTY_REASON_OTHER", REASON_OTHER as i64),
    ("DEPUTY_OPTION_INT", OPTION_INT as i64),
    ("DEPUTY_OPTION_ENUM", OPTION_ENUM as i64),
    ("DEPUTY_OPEN_COMPILE_ONLY", OPEN_COMPILE_ONLY as i64),
];

pub const TEXTS: &[(&str, &[u8])] = &[("DEPUTY_EXT_OPTIONS", EXT_OPTIONS)];

/// Declares structs as C lays them out, and with them the lines that the golden table has about them.
macro_rules! abi {
    ($($name:ident as $c:literal { $($field:ident: $kind:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $kind,)* }
        )*
        pub fn layout() -> Vec<String> {
            let mut lines = Vec::new();
            $(
                lines.push(format!("struct {} {}", $c, core::mem::size_of::<$name>()));
                let made = core::mem::MaybeUninit::<$name>::uninit();
                let base = made.as_ptr();
                $(
                    // The address alone is taken; nothing is read.
                    let at = unsafe { core::ptr::addr_of!((*base).$field) } as usize - base as usize;
                    lines.push(format!("field {}.{} {} {}", $c, stringify!($field).trim_start_matches("r#").trim_end_matches('_'), at,
                                       core::mem::size_of::<$kind>()));
                )*
            )*
            lines
        }
    };
}

/// Of the host or of the plugin: only its owner knows what is inside.
pub type Opaque = c_void;
/// A function that this plugin does not call.
pub type Uncalled = *const c_void;

pub type ParallelFn = extern "C" fn(job: *mut c_void, begin: i64, end: i64, worker: u32);

abi! {
    Str as "deputy_str" { data: *const c_char, size: u64, }
    Kv as "deputy_kv" { key: Str, value: Str, }
    OpenArgs as "deputy_open_args" {
        struct_size: u32, flags: u32, host: *const Host, name: Str, device: Str, options: *const Kv,
        option_count: u64,
    }
    CompileArgs as "deputy_compile_args" {
        struct_size: u32, flags: u32, partition: *const Partition, precision: *const NodePrecision,
        precision_count: u64,
    }
    NodePrecision as "deputy_node_precision" { node: u32, compute: i32, }
    ContextArgs as "deputy_context_args" {
        struct_size: u32, flags: u32,
    }
    Opset as "deputy_opset" { domain: Str, version: u32, reserved: u32, }
    SupportSink as "deputy_support_sink" {
        struct_size: u32, reserved: u32, self_: *mut c_void,
        answer: extern "C" fn(this: *mut c_void, node: u32, reason: u32, detail: Str),
    }
    RunArgs as "deputy_run_args" {
        struct_size: u32, flags: u32, input_count: u32, output_count: u32,
        inputs: *const *const Tensor, outputs: *const *const Tensor,
    }
    Tensor as "deputy_tensor" {
        struct_size: u32, dtype: i32, rank: u32, layout: u32, dims: *const i64, strides: *const i64,
        quantization: *const c_void, memory: u32, layout_tag: u32, data: *mut c_void,
    }
    NodeInfo as "deputy_node_info" {
        struct_size: u32, id: u32, domain: Str, op_type: Str, name: Str, since_version: u32, flags: u32,
        input_count: u32, output_count: u32, inputs: *const u32, outputs: *const u32, primitive: *const c_void,
        primitive_size: u64,
    }
    ValueInfo as "deputy_value_info" {
        struct_size: u32, id: u32, name: Str, dtype: i32, rank: u32, dims: *const i64, flags: u32, reserved: u32,
        constant: *const c_void, byte_size: u64,
    }
    Partition as "deputy_partition" {
        struct_size: u32, node_count: u32, graph: *const Opaque, nodes: *const u32, inputs: *const u32,
        outputs: *const u32, input_count: u32, output_count: u32, claim: *mut c_void, name: Str,
    }
    Host as "deputy_host" {
        struct_size: u32, abi_version: u32, self_: *mut c_void,
        status_new: extern "C" fn(this: *mut c_void, code: i32, node: u32, message: *const c_char, size: u64)
            -> *mut Opaque,
        status_release: Uncalled, status_code: Uncalled, status_node: Uncalled, status_message: Uncalled, log: Uncalled,
        get_extension: Uncalled,
        graph_node_count: extern "C" fn(this: *mut c_void, graph: *const Opaque) -> u32,
        graph_node_at: extern "C" fn(this: *mut c_void, graph: *const Opaque, index: u32) -> u32,
        graph_node_info: extern "C" fn(this: *mut c_void, graph: *const Opaque, node: u32, out: *mut NodeInfo)
            -> *mut Opaque,
        graph_value_info: extern "C" fn(this: *mut c_void, graph: *const Opaque, value: u32, out: *mut ValueInfo)
            -> *mut Opaque,
        graph_inputs: Uncalled, graph_outputs: Uncalled, constant_read: Uncalled, constant_file: Uncalled,
        node_attribute: Uncalled,
        parallel_for: extern "C" fn(this: *mut c_void, count: i64, grain: i64, run: ParallelFn, job: *mut c_void),
        thread_count: Uncalled, clock_ns: Uncalled,
    }
    OptionInfo as "deputy_option_info" {
        struct_size: u32, r#type: u32, name: Str, help: Str, unit: Str, default_value: Str,
        choices: *const Str, choice_count: u64, int_minimum: i64, int_maximum: i64, minimum: f64, maximum: f64,
        flags: u32, reserved: u32,
    }
    ExtOptions as "deputy_ext_options" {
        struct_size: u32, reserved: u32,
        option_count: extern "C" fn(this: *const Delegate) -> u32,
        option_at: extern "C" fn(this: *const Delegate, index: u32) -> *const OptionInfo,
        get_option: extern "C" fn(instance: *mut Opaque, name: Str, buffer: *mut c_char, capacity: u64,
                                  size: *mut u64) -> *mut Opaque,
        set_option: Uncalled,
    }
    Delegate as "deputy_delegate" {
        struct_size: u32, flags: u32, id: Str, description: Str, r#impl: *mut c_void, opsets: *const Opset,
        opset_count: u64, probe: Uncalled,
        get_extension: extern "C" fn(this: *const Delegate, id: *const c_char) -> *const c_void,
        open: extern "C" fn(this: *const Delegate, args: *const OpenArgs, out: *mut *mut Opaque) -> *mut Opaque,
        close: extern "C" fn(instance: *mut Opaque),
        query_support: extern "C" fn(instance: *mut Opaque, graph: *const Opaque, sink: *const SupportSink)
            -> *mut Opaque,
        compile: extern "C" fn(instance: *mut Opaque, args: *const CompileArgs, out: *mut *mut Opaque)
            -> *mut Opaque,
        executable_destroy: extern "C" fn(executable: *mut Opaque),
        context_create: extern "C" fn(executable: *mut Opaque, args: *const ContextArgs, out: *mut *mut Opaque)
            -> *mut Opaque,
        context_destroy: extern "C" fn(context: *mut Opaque),
        scratch_size: Uncalled,
        execute: extern "C" fn(context: *mut Opaque, args: *const RunArgs) -> *mut Opaque,
        cancel: Uncalled,
    }
    Plugin as "deputy_plugin" {
        struct_size: u32, abi_version: u32, min_host_abi: u32, flags: u32, id: Str, vendor: Str, version: Str,
        r#impl: *mut c_void, init: Uncalled, shutdown: Uncalled,
        delegate_count: extern "C" fn(this: *const Plugin) -> u32,
        delegate_at: extern "C" fn(this: *const Plugin, index: u32) -> *const Delegate,
        get_extension: Uncalled,
    }
    NoteHead as "deputy_note_head" {
        magic: u32, head_size: u32, abi_version: u32, min_host_abi: u32, text_size: u32,
    }
}
