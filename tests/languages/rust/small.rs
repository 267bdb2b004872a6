//! A small delegate that is whole, in Rust without a crate: Add and Relu in float32, any number of them in one
//! partition. The same delegate stands beside this one in other languages. A panic ends where it would cross the
//! boundary: it becomes a status.
mod deputy_abi;

use core::ffi::c_void;
use deputy_abi::*;
use std::os::raw::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};

const NEWEST: u32 = 14; // definition of Add and of Relu whose meaning this source knows
const MAX_GRAIN: i64 = 1 << 24;

/// Text with the NUL behind it that the boundary wants.
const fn text(with_nul: &'static str) -> Str {
    Str { data: with_nul.as_ptr() as *const c_char, size: (with_nul.len() - 1) as u64 }
}

/// What a `Str` of the host says.
fn view(from: &Str) -> &[u8] {
    if from.size == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(from.data as *const u8, from.size as usize) }
}

/// A slice of the host's, which may be null when it is empty.
fn list<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(data, count) }
}

// ---- failures

/// Made by the host already, or to be made of a code and a sentence.
enum Failure {
    Hosts(*mut Opaque),
    Ours(i32, u32, &'static str),
}

fn made(status: *mut Opaque) -> Result<(), Failure> {
    if status.is_null() { Ok(()) } else { Err(Failure::Hosts(status)) }
}

/// A bit that this source does not know would change the meaning of a call.
fn known(unknown_flags: u32) -> Result<(), Failure> {
    if unknown_flags == 0 { Ok(()) } else { Err(Failure::Ours(INVALID_ARGUMENT, NO_NODE, "flags have unknown bits")) }
}

/// Runs what a function of the table does; nothing unwinds out of it.
fn guarded(host: *const Host, work: impl FnOnce() -> Result<(), Failure>) -> *mut Opaque {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return null_mut(),
        Ok(Err(failure)) => failure,
        Err(_) => Failure::Ours(INTERNAL, NO_NODE, "a panic"),
    };
    match failure {
        Failure::Hosts(status) => status,
        Failure::Ours(code, node, message) => unsafe {
            ((*host).status_new)((*host).self_, code, node, message.as_ptr() as *const c_char, message.len() as u64)
        },
    }
}

// ---- options

struct Shared<T>(T);
unsafe impl<T> Sync for Shared<T> {} // constant tables: nobody writes

static ONLY: Shared<[Str; 3]> = Shared([text("both\0"), text("Add\0"), text("Relu\0")]);

static OPTIONS: Shared<[OptionInfo; 2]> = Shared([
    OptionInfo {
        struct_size: std::mem::size_of::<OptionInfo>() as u32,
        r#type: OPTION_ENUM,
        name: text("only\0"),
        help: text("which operators to take\0"),
        unit: text("\0"),
        default_value: text("both\0"),
        choices: ONLY.0.as_ptr(),
        choice_count: ONLY.0.len() as u64,
        int_minimum: 0,
        int_maximum: 0,
        minimum: 0.0,
        maximum: 0.0,
        flags: 0,
        reserved: 0,
    },
    OptionInfo {
        struct_size: std::mem::size_of::<OptionInfo>() as u32,
        r#type: OPTION_INT,
        name: text("grain\0"),
        help: text("elements that are worth a thread\0"),
        unit: text("\0"),
        default_value: text("4096\0"),
        choices: null(),
        choice_count: 0,
        int_minimum: 1,
        int_maximum: MAX_GRAIN,
        minimum: 0.0,
        maximum: 0.0,
        flags: 0,
        reserved: 0,
    },
]);

extern "C" fn option_count(_: *const Delegate) -> u32 {
    OPTIONS.0.len() as u32
}

extern "C" fn option_at(_: *const Delegate, index: u32) -> *const OptionInfo {
    OPTIONS.0.get(index as usize).map_or(null(), |info| info as *const OptionInfo)
}

extern "C" fn get_option(
    instance: *mut Opaque, name: Str, buffer: *mut c_char, capacity: u64, size: *mut u64,
) -> *mut Opaque {
    let instance = unsafe { &*(instance as *const Instance) };
    guarded(instance.host, || {
        let value = match view(&name) {
            b"only" => instance.only.clone(),
            b"grain" => instance.grain.to_string(),
            _ => return Err(Failure::Ours(NOT_FOUND, NO_NODE, "no such option")),
        };
        unsafe {
            *size = value.len() as u64;
            if *size >= capacity {
                return Err(Failure::Ours(OUT_OF_MEMORY, NO_NODE, "the buffer is too small"));
            }
            std::ptr::copy_nonoverlapping(value.as_ptr(), buffer as *mut u8, value.len());
            *buffer.add(value.len()) = 0;
        }
        Ok(())
    })
}

static OPTIONS_TABLE: Shared<ExtOptions> = Shared(ExtOptions {
    struct_size: std::mem::size_of::<ExtOptions>() as u32,
    reserved: 0,
    option_count,
    option_at,
    get_option,
    set_option: null(),
});

extern "C" fn get_extension(_: *const Delegate, id: *const c_char) -> *const c_void {
    if unsafe { std::ffi::CStr::from_ptr(id) }.to_bytes() == EXT_OPTIONS {
        return &OPTIONS_TABLE.0 as *const ExtOptions as *const c_void;
    }
    null()
}

// ---- an instance

struct Instance {
    host: *const Host,
    only: String,
    grain: i64,
}

extern "C" fn open(_: *const Delegate, args: *const OpenArgs, out: *mut *mut Opaque) -> *mut Opaque {
    let args = unsafe { &*args };
    guarded(args.host, || {
        known(args.flags & !OPEN_COMPILE_ONLY)?;
        let mut made = Box::new(Instance { host: args.host, only: "both".into(), grain: 4096 });
        for option in list(args.options, args.option_count as usize) {
            let value = String::from_utf8_lossy(view(&option.value)).into_owned();
            match view(&option.key) {
                b"only" => made.only = value,
                b"grain" => {
                    let bad = Failure::Ours(INVALID_ARGUMENT, NO_NODE, "grain is a number");
                    made.grain = value.parse().map_err(|_| bad)?
                }
                _ => {} // the host has checked the names
            }
        }
        unsafe { *out = Box::into_raw(made) as *mut Opaque };
        Ok(())
    })
}

extern "C" fn close(instance: *mut Opaque) {
    drop(unsafe { Box::from_raw(instance as *mut Instance) });
}

// ---- the model, as the host shows it

struct Graph {
    host: *const Host,
    graph: *const Opaque,
}

impl Graph {
    fn host(&self) -> &Host {
        unsafe { &*self.host }
    }
    fn node(&self, id: u32) -> Result<NodeInfo, Failure> {
        let mut info: NodeInfo = unsafe { std::mem::zeroed() };
        info.struct_size = std::mem::size_of::<NodeInfo>() as u32;
        made((self.host().graph_node_info)(self.host().self_, self.graph, id, &mut info))?;
        Ok(info)
    }
    fn value(&self, id: u32) -> Result<ValueInfo, Failure> {
        let mut info: ValueInfo = unsafe { std::mem::zeroed() };
        info.struct_size = std::mem::size_of::<ValueInfo>() as u32;
        made((self.host().graph_value_info)(self.host().self_, self.graph, id, &mut info))?;
        Ok(info)
    }
}

fn inputs(node: &NodeInfo) -> &[u32] {
    list(node.inputs, node.input_count as usize)
}

fn dims(value: &ValueInfo) -> &[i64] {
    list(value.dims, if value.dims.is_null() { 0 } else { value.rank as usize })
}

fn judge(graph: &Graph, node: &NodeInfo, only: &str) -> Result<(u32, &'static str), Failure> {
    let name = view(&node.op_type);
    if !view(&node.domain).is_empty() || (name != b"Add" && name != b"Relu") {
        return Ok((REASON_OPERATOR_UNKNOWN, "only Add and Relu are known\0"));
    }
    if node.since_version > NEWEST {
        return Ok((REASON_DEFINITION_TOO_NEW, "this definition came later\0"));
    }
    if only != "both" && only.as_bytes() != name {
        return Ok((REASON_OTHER, "the option `only` names the other operator\0"));
    }
    let first = graph.value(inputs(node)[0])?;
    for &id in inputs(node) {
        let value = graph.value(id)?;
        if value.dtype != DTYPE_FLOAT32 {
            return Ok((REASON_DTYPE, "float32 only\0"));
        }
        if value.flags & VALUE_SHAPE_KNOWN == 0 {
            return Ok((REASON_SHAPE_DYNAMIC, "extents must be known\0"));
        }
        if dims(&value) != dims(&first) {
            return Ok((REASON_SHAPE, "both sides must have one shape\0"));
        }
    }
    Ok((REASON_SUPPORTED, "\0"))
}

extern "C" fn query_support(instance: *mut Opaque, graph: *const Opaque, sink: *const SupportSink) -> *mut Opaque {
    let instance = unsafe { &*(instance as *const Instance) };
    guarded(instance.host, || {
        let graph = Graph { host: instance.host, graph };
        let (host, sink) = (graph.host(), unsafe { &*sink });
        for index in 0..(host.graph_node_count)(host.self_, graph.graph) {
            let node = graph.node((host.graph_node_at)(host.self_, graph.graph, index))?;
            if node.flags & NODE_OFFERED == 0 {
                continue;
            }
            let (reason, detail) = judge(&graph, &node, &instance.only)?;
            (sink.answer)(sink.self_, node.id, reason, text(detail));
        }
        Ok(())
    })
}

// ---- compiling

#[derive(Clone, Copy)]
enum Place {
    Input(usize),
    Output(usize),
    Constant(*const f32),
    Scratch(usize),
}

struct Slot {
    value: u32,
    place: Place,
    count: usize,
}

struct Step {
    add: bool,
    a: usize,
    b: usize,
    out: usize,
}

struct Executable {
    host: *const Host,
    grain: i64,
    slots: Vec<Slot>,
    steps: Vec<Step>,
    scratch: Vec<usize>, // elements of each value that stays inside the partition
}

impl Executable {
    fn add_slot(&mut self, value: &ValueInfo, place: Place) -> usize {
        let count = dims(value).iter().map(|&extent| extent as usize).product();
        if let Place::Scratch(_) = place {
            self.scratch.push(count);
        }
        self.slots.push(Slot { value: value.id, place, count });
        self.slots.len() - 1
    }
    fn slot_of(&mut self, graph: &Graph, id: u32) -> Result<usize, Failure> {
        if let Some(known) = self.slots.iter().position(|slot| slot.value == id) {
            return Ok(known);
        }
        let value = graph.value(id)?;
        let place = if value.flags & VALUE_CONSTANT != 0 {
            Place::Constant(value.constant as *const f32)
        } else {
            Place::Scratch(self.scratch.len())
        };
        Ok(self.add_slot(&value, place))
    }
}

extern "C" fn compile(instance: *mut Opaque, args: *const CompileArgs, out: *mut *mut Opaque) -> *mut Opaque {
    let (instance, args) = unsafe { (&*(instance as *const Instance), &*args) };
    guarded(instance.host, || {
        known(args.flags)?;
        for asked in list(args.precision, args.precision_count as usize) {
            if asked.compute != DTYPE_FLOAT32 {
                return Err(Failure::Ours(NOT_SUPPORTED, asked.node, "floats are computed in float32"));
            }
        }
        let partition = unsafe { &*args.partition };
        let graph = Graph { host: instance.host, graph: partition.graph };
        let mut made = Box::new(Executable {
            host: instance.host,
            grain: instance.grain,
            slots: Vec::new(),
            steps: Vec::new(),
            scratch: Vec::new(),
        });
        for (index, &id) in list(partition.inputs, partition.input_count as usize).iter().enumerate() {
            let value = graph.value(id)?;
            made.add_slot(&value, Place::Input(index));
        }
        for (index, &id) in list(partition.outputs, partition.output_count as usize).iter().enumerate() {
            let value = graph.value(id)?;
            made.add_slot(&value, Place::Output(index));
        }
        for &id in list(partition.nodes, partition.node_count as usize) {
            let node = graph.node(id)?;
            let add = view(&node.op_type) == b"Add";
            let a = made.slot_of(&graph, inputs(&node)[0])?;
            let b = made.slot_of(&graph, inputs(&node)[add as usize])?;
            let result = made.slot_of(&graph, unsafe { *node.outputs })?;
            made.steps.push(Step { add, a, b, out: result });
        }
        unsafe { *out = Box::into_raw(made) as *mut Opaque };
        Ok(())
    })
}

extern "C" fn executable_destroy(executable: *mut Opaque) {
    drop(unsafe { Box::from_raw(executable as *mut Executable) });
}

// ---- running

struct Context {
    executable: *const Executable,
    scratch: Vec<Vec<f32>>,
}

extern "C" fn context_create(
    executable: *mut Opaque, args: *const ContextArgs, out: *mut *mut Opaque,
) -> *mut Opaque {
    let (executable, args) = unsafe { (&*(executable as *const Executable), &*args) };
    guarded(executable.host, || {
        known(args.flags)?;
        let scratch = executable.scratch.iter().map(|&count| vec![0.0; count]).collect();
        unsafe { *out = Box::into_raw(Box::new(Context { executable, scratch })) as *mut Opaque };
        Ok(())
    })
}

extern "C" fn context_destroy(context: *mut Opaque) {
    drop(unsafe { Box::from_raw(context as *mut Context) });
}

struct Job {
    add: bool,
    a: *const f32,
    b: *const f32,
    out: *mut f32,
}

/// Ranges do not meet, so that each element is written by one thread. An output may not lie where an input does, but the
/// host promises no more than that: hence pointers instead of slices. Nothing in here can panic.
extern "C" fn run_range(job: *mut c_void, begin: i64, end: i64, _worker: u32) {
    let job = unsafe { &*(job as *const Job) };
    for i in begin as usize..end as usize {
        unsafe {
            let a = *job.a.add(i);
            *job.out.add(i) = if job.add {
                a + *job.b.add(i)
            } else if a < 0.0 {
                0.0
            } else {
                a
            };
        }
    }
}

fn elements(tensor: *const Tensor) -> *mut f32 {
    unsafe { (*tensor).data as *mut f32 }
}

extern "C" fn execute(context: *mut Opaque, args: *const RunArgs) -> *mut Opaque {
    let (context, args) = unsafe { (&mut *(context as *mut Context), &*args) };
    let executable = unsafe { &*context.executable };
    guarded(executable.host, || {
        known(args.flags)?;
        let host = unsafe { &*executable.host };
        for step in &executable.steps {
            let mut place = |at: usize| match executable.slots[at].place {
                Place::Input(index) => elements(unsafe { *args.inputs.add(index) }),
                Place::Output(index) => elements(unsafe { *args.outputs.add(index) }),
                Place::Constant(data) => data as *mut f32, // only ever read
                Place::Scratch(index) => context.scratch[index].as_mut_ptr(),
            };
            let mut job = Job { add: step.add, a: place(step.a), b: place(step.b), out: place(step.out) };
            let count = executable.slots[step.out].count as i64;
            (host.parallel_for)(host.self_, count, executable.grain, run_range, &mut job as *mut Job as *mut c_void);
        }
        Ok(())
    })
}

// ---- the tables

static OPSET: Shared<Opset> = Shared(Opset { domain: text("\0"), version: NEWEST, reserved: 0 });

static DELEGATE: Shared<Delegate> = Shared(Delegate {
    struct_size: std::mem::size_of::<Delegate>() as u32,
    flags: 0,
    id: text("small_rust\0"),
    description: text("Add and Relu in float32\0"),
    r#impl: null_mut(),
    opsets: &OPSET.0,
    opset_count: 1,
    probe: null(), // needs nothing, so there is nothing to probe
    get_extension,
    open,
    close,
    query_support,
    compile,
    executable_destroy,
    context_create,
    context_destroy,
    scratch_size: null(),
    execute,
    cancel: null(),
});

extern "C" fn delegate_count(_: *const Plugin) -> u32 {
    1
}

extern "C" fn delegate_at(_: *const Plugin, index: u32) -> *const Delegate {
    if index == 0 { &DELEGATE.0 } else { null() }
}

static PLUGIN: Shared<Plugin> = Shared(Plugin {
    struct_size: std::mem::size_of::<Plugin>() as u32,
    abi_version: ABI_VERSION,
    min_host_abi: ABI_MIN_HOST,
    flags: 0,
    id: text("com.example.small_rust\0"),
    vendor: text("Example\0"),
    version: text("1.0\0"),
    r#impl: null_mut(),
    init: null(),
    shutdown: null(),
    delegate_count,
    delegate_at,
    get_extension: null(),
});

#[no_mangle]
pub extern "C" fn deputy_plugin_query_v1(_host_abi: u32, _reserved: *const c_void) -> *const Plugin {
    &PLUGIN.0
}

// ---- the note

const LINES: &[u8] = b"id=com.example.small_rust\nversion=1.0\ndelegates=small_rust\n";
const PADDED: usize = (LINES.len() + 3) / 4 * 4;

#[repr(C)]
pub struct Note {
    name_size: u32,
    descriptor_size: u32,
    kind: u32,
    owner: [u8; 8],
    head: NoteHead,
    text: [u8; PADDED],
}

const fn padded() -> [u8; PADDED] {
    let mut text = [0; PADDED];
    let mut i = 0;
    while i < LINES.len() {
        text[i] = LINES[i];
        i += 1;
    }
    text
}

#[used]
#[link_section = ".note.deputy"]
pub static NOTE: Note = Note {
    name_size: 7,
    descriptor_size: (std::mem::size_of::<NoteHead>() + PADDED) as u32,
    kind: 1,
    owner: *b"Deputy\0\0",
    head: NoteHead {
        magic: 0x5950_5544,
        head_size: std::mem::size_of::<NoteHead>() as u32,
        abi_version: ABI_VERSION,
        min_host_abi: ABI_MIN_HOST,
        text_size: LINES.len() as u32,
    },
    text: padded(),
};
