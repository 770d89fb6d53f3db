import { defineWords } from "../words/words.ts";

/** Notices of the gateway, which are English, in the language of the page. One that is not known here stays as it is. */
export const noticeWords = defineWords({
  en: { translate: (notice: string) => notice },
  zh: { translate: (notice: string) => matched(patterns, notice) ?? notice },
});

type Pattern = readonly [form: RegExp, chinese: (...groups: string[]) => string];

const patterns: readonly Pattern[] = [
  [
    /^Left out: the reasoning effort (.+?)\. This model knows (.+)\.$/,
    (effort, known) => `已略去思考强度 ${effort}。此模型支持：${known}。`,
  ],
  [/^Left out: (.+?)\. (.+\.)$/, (names, why) => `已略去：${names}。${reason(why)}`],
  [
    /^(.+) (?:is|are) not taken by (.+): left out$/,
    (names, who) => `${who} 不接受 ${names}，已略去。`,
  ],
  [/^The (.+) was left out: (.+)\.$/, (what, why) => `已略去${named(what)}：${reason(why)}。`],
  [
    /^The (.+) is sent as it is: nothing in a (?:picture|sound) can be masked\.$/,
    (what) => `${named(what)}按原样发送：其中的内容无法遮蔽。`,
  ],
  [
    /^(?:The )?(.+) was cut: only the first (\d+) characters are sent\.$/,
    (what, count) => `${named(what)}过长，只发送前 ${count} 个字符。`,
  ],
  [
    /^The (.+) was cut: only the first (\d+) of (\d+) pages are sent\.$/,
    (what, count, all) => `${named(what)}共 ${all} 页，只发送前 ${count} 页。`,
  ],
  [
    /^Of the (.+) only the text is sent, (.+)\.$/,
    (what, why) => `${named(what)}只发送其中的文字：${reason(why)}。`,
  ],
  [
    /^the limit of (\S+) (round|token|cost)s? is reached: the model answers without more tool calls$/,
    (limit, unit) =>
      `已达到限制（${units.get(unit) ?? unit} ${limit}）：模型不再调用工具，直接作答。`,
  ],
  [
    /^asked (\d+) times?(?:, the last time (.+?))?(?:; learned: (.+))?$/,
    (times, last = "", learned = "") =>
      `请求了 ${times} 次${last === "" ? "" : `，最后一次是 ${last}`}${learned === "" ? "" : `；学到：${learned}`}`,
  ],
];

const units: ReadonlyMap<string, string> = new Map([
  ["round", "工具轮数"],
  ["token", "词元数"],
  ["cost", "费用"],
]);

const reasons: ReadonlyMap<string, string> = new Map([
  ["Only media options are for a model of this kind.", "这类模型只接受媒体选项。"],
  ["This model makes neither pictures nor sound.", "此模型不生成图片或声音。"],
  ["This model cannot call tools.", "此模型不能调用工具。"],
  ["This model does not reason.", "此模型没有思考功能。"],
  ["it is not stored any more", "它已不在存储中"],
  ["only files that are stored here can be read", "只能读取存储在这里的文件"],
  ["as this model does not take it as it is", "此模型不接受原文件"],
  ["so that it can be masked", "以便遮蔽其中的内容"],
  [
    "it is neither text in UTF-8 nor a picture, a sound or a PDF",
    "它不是 UTF-8 文本、图片、音频或 PDF",
  ],
  [
    "this model draws what the words say and takes nothing else",
    "此模型只按文字作图，不接受其他内容",
  ],
  ["this model takes words and pictures and nothing else", "此模型只接受文字和图片"],
  ["this model takes a sound and words about it and nothing else", "此模型只接受音频和对它的说明"],
  ["this model reads the words aloud and takes nothing else", "此模型只朗读文字，不接受其他内容"],
  ["this model does not see pictures", "此模型不能看图"],
  ["this model does not hear", "此模型不能听音频"],
  ["only sounds that are stored here can be sent", "只能发送存储在这里的音频"],
  ["its address has a private value in it", "它的地址中含有隐私内容"],
  ["it needs a password", "它需要密码"],
  ["it is no PDF, or broken", "它不是 PDF 或已损坏"],
  ["it takes too long to read", "读取它太费时"],
  ["it has no text; perhaps its pages are pictures", "其中没有文字，页面可能是图片"],
  ["it could not be read", "无法读取"],
]);

const reasonForms: readonly Pattern[] = [
  [/^it has more than (\d+) MB$/, (size) => `超过 ${size} MB`],
  [
    /^models see (.+), and not (.+)$/,
    (_known, type) => `模型只能看 PNG、JPEG、GIF 和 WebP，不能看 ${type}`,
  ],
  [/^models hear (.+), and not (.+)$/, (_known, type) => `模型只能听 MP3 和 WAV，不能听 ${type}`],
];

function reason(why: string): string {
  return reasons.get(why) ?? matched(reasonForms, why) ?? why;
}

const nouns: ReadonlyMap<string, string> = new Map([
  ["picture", "图片"],
  ["sound", "音频"],
  ["file", "文件"],
  ["context", "上下文"],
  ["picture from earlier in this chat", "此对话前面的图片"],
]);

/** `picture "cat.png"`: what it is, and how it is called. */
function named(what: string): string {
  const [, noun = what, name = ""] = /^(\w+)(?: "([^]*)")?$/.exec(what) ?? [];
  const chinese = nouns.get(noun);
  if (chinese === undefined) return what;
  return name === "" ? chinese : `${chinese}“${name}”`;
}

function matched(forms: readonly Pattern[], text: string): string | undefined {
  for (const [form, chinese] of forms) {
    const groups = form.exec(text);
    if (groups !== null) return chinese(...groups.slice(1));
  }
  return undefined;
}

/** What the gateway counts when it mends a request or a reply, by its codes. */
export const repairWords = defineWords({
  en: {
    // the body of a reply
    event_not_json: "A piece of the reply could not be read and was left out.",
    event_spliced: "A broken piece of the reply was left out; the whole one behind it was kept.",
    whole_reply_for_stream: "The server sent the reply all at once instead of word by word.",
    stream_for_whole_reply: "The server sent the reply word by word instead of all at once.",
    last_event_unterminated: "The last piece of the reply was not closed, but was whole.",
    // its frame
    envelope_completed: "Missing details of the reply's frame were filled in.",
    usage_moved: "The count of tokens stood in an unusual place.",
    usage_estimated: "The server counted no tokens, so they are estimated.",
    data_after_end: "Something came after the end of the reply and was ignored.",
    deltas_differ: "The server's final text differs from what it sent word by word.",
    event_dropped: "The server sent a signal that belongs to no reply; it was ignored.",
    event_completed: "The server left out steps of the reply; they were filled in.",
    // text and reasoning
    content_parts_flattened: "The text came in parts and was put together.",
    content_not_text: "Something in the reply was no text and was left out.",
    reasoning_tags_split: "Reasoning stood within the text and was set apart.",
    reasoning_repeated: "Reasoning came twice and is shown once.",
    reasoning_ignored: "A second piece of reasoning contradicted the first and was left out.",
    carry_lost: "Sealed reasoning could not be kept; the model does not get it back.",
    // tool calls
    call_id_minted: "A tool call had no usable id and got one.",
    call_id_changed: "The id of a tool call was changed to one that fits.",
    call_name_joined: "The name of a tool came in pieces and was put together.",
    call_name_ignored: "A tool call named two tools; the second name was ignored.",
    call_without_name: "A tool call named no tool and was left out.",
    call_index_ignored: "Tool calls were numbered wrongly and were told apart by their ids.",
    call_withheld: "A tool call was cut off and was not passed on.",
    call_repeated: "A tool call came twice and was taken once.",
    call_leaked: "A tool call stood within the text and was taken as a call.",
    legacy_function_call: "A tool call came in an old form.",
    arguments_blank: "A tool call had no arguments; it was taken as one without any.",
    arguments_cumulative: "Arguments of a tool call came from the beginning each time.",
    arguments_repeated: "Arguments of a tool call came twice and were taken once.",
    arguments_placeholder: "Empty arguments came first and were replaced by the real ones.",
    arguments_split: "Several tool calls came as one and were taken apart.",
    arguments_object: "Arguments of a tool call came in an unusual form.",
    arguments_tail_dropped: "Stray characters behind the arguments of a tool call were removed.",
    arguments_not_whole: "Arguments of a tool call were not whole; such a call is not run.",
    custom_input_unwrapped: "The input of a tool was wrapped and was unwrapped.",
    // the end
    finish_corrected: "How the reply ended was named wrongly and was set right.",
    finish_unknown: "The server gave an unknown reason for the end; it was taken as a usual one.",
    finish_repeated: "The end of the reply was told twice.",
    finish_missing: "The reply ended without saying why; it was taken as a usual end.",
    error_ignored: "The server reported an error beside a whole reply; the reply was kept.",
    // requests
    item_skipped: "A part of the conversation has no form for this server and was left out.",
    tool_dropped: "A tool that this server cannot be offered was left out.",
    tool_renamed: "A tool was offered under a name that this server takes.",
    tool_schema_completed: "The description of a tool's arguments was completed.",
    parameter_dropped: "A parameter that this server does not take was left out.",
    parameter_changed: "A parameter was changed to what this server takes.",
    role_mapped: "A message was told under another role that this server knows.",
    history_reordered: "Messages were told in the order that this server needs.",
    call_without_result: "An earlier tool call had no result; the model was told so.",
    result_without_call: "A result belonged to no tool call and was told as a message.",
    content_converted: "A part of the conversation was told in a form that this server takes.",
    reasoning_dropped: "Earlier reasoning is not sent back to a model that does not take it.",
    item_id_renewed: "Earlier parts of the conversation were sent under new ids.",
  },
  zh: {
    event_not_json: "回复中有一段无法读取，已略去。",
    event_spliced: "回复中有一段损坏，已略去，其后完整的部分已保留。",
    whole_reply_for_stream: "服务器一次性发来了整个回复，而不是逐字发送。",
    stream_for_whole_reply: "服务器逐字发来了回复，而不是一次性发送。",
    last_event_unterminated: "回复的最后一段没有正常结束，但内容完整。",
    envelope_completed: "补全了回复缺少的格式信息。",
    usage_moved: "词元用量出现在不寻常的位置。",
    usage_estimated: "服务器没有给出词元用量，因此为估算值。",
    data_after_end: "回复结束后又收到内容，已忽略。",
    deltas_differ: "服务器最终给出的文字与逐字发来的不同。",
    event_dropped: "服务器发来不属于回复的信号，已忽略。",
    event_completed: "服务器省略了回复的一些步骤，已补全。",
    content_parts_flattened: "文字分块发来，已合并。",
    content_not_text: "回复中有不是文字的内容，已略去。",
    reasoning_tags_split: "思考过程混在正文里，已分开。",
    reasoning_repeated: "思考过程发来两次，只显示一次。",
    reasoning_ignored: "另一段思考过程与前面的不一致，已略去。",
    carry_lost: "加密的思考内容无法保留，不会再发给模型。",
    call_id_minted: "工具调用没有可用的编号，已补上。",
    call_id_changed: "工具调用的编号已改为合适的编号。",
    call_name_joined: "工具名称分段发来，已拼合。",
    call_name_ignored: "一次调用提到两个工具，已忽略后一个名称。",
    call_without_name: "有工具调用没有写明工具，已略去。",
    call_index_ignored: "工具调用的序号有误，已按编号区分。",
    call_withheld: "有工具调用被截断，没有转发。",
    call_repeated: "工具调用发来两次，只采用一次。",
    call_leaked: "工具调用写在正文里，已作为调用处理。",
    legacy_function_call: "工具调用使用了旧格式。",
    arguments_blank: "工具调用没有参数，按无参数处理。",
    arguments_cumulative: "工具调用的参数每次都从头发送，已理清。",
    arguments_repeated: "工具调用的参数发来两次，只采用一次。",
    arguments_placeholder: "先发来了空参数，已换成真正的参数。",
    arguments_split: "几个工具调用连在一起，已分开。",
    arguments_object: "工具调用的参数格式不寻常，已转换。",
    arguments_tail_dropped: "去掉了工具调用参数后面的多余字符。",
    arguments_not_whole: "工具调用的参数不完整，这样的调用不会运行。",
    custom_input_unwrapped: "工具的输入多包了一层，已去掉。",
    finish_corrected: "回复的结束方式标错了，已更正。",
    finish_unknown: "服务器给出的结束原因未知，按正常结束处理。",
    finish_repeated: "回复的结束被通知了两次。",
    finish_missing: "回复结束时没有说明原因，按正常结束处理。",
    error_ignored: "服务器在完整的回复旁报告了错误，回复已保留。",
    item_skipped: "对话中有一部分无法用这个服务器的格式表达，已略去。",
    tool_dropped: "有一个工具无法提供给这个服务器，已略去。",
    tool_renamed: "有一个工具换成了这个服务器接受的名称。",
    tool_schema_completed: "补全了工具参数的说明。",
    parameter_dropped: "有一个参数这个服务器不接受，已略去。",
    parameter_changed: "有一个参数已改为这个服务器接受的值。",
    role_mapped: "有消息改用了这个服务器认识的角色。",
    history_reordered: "消息已按这个服务器要求的顺序发送。",
    call_without_result: "之前有工具调用没有结果，已告知模型。",
    result_without_call: "有结果不属于任何工具调用，已作为消息发送。",
    content_converted: "对话中有一部分已转换为这个服务器接受的形式。",
    reasoning_dropped: "之前的思考不会发回给不接受它的模型。",
    item_id_renewed: "对话中较早的部分使用了新的编号。",
  },
});

export type RepairCode = keyof (typeof repairWords)["en"];

export function isRepairCode(code: string): code is RepairCode {
  return Object.hasOwn(repairWords.en, code);
}

/** Those that lose nothing which was said or meant: they happen in every answer of some servers. */
export const usualRepairs: ReadonlySet<RepairCode> = new Set<RepairCode>([
  "whole_reply_for_stream",
  "stream_for_whole_reply",
  "last_event_unterminated",
  "envelope_completed",
  "usage_moved",
  "usage_estimated",
  "event_dropped",
  "event_completed",
  "content_parts_flattened",
  "reasoning_tags_split",
  "reasoning_repeated",
  "call_id_minted",
  "call_id_changed",
  "call_name_joined",
  "call_index_ignored",
  "call_repeated",
  "legacy_function_call",
  "arguments_blank",
  "arguments_cumulative",
  "arguments_repeated",
  "arguments_placeholder",
  "arguments_object",
  "arguments_tail_dropped",
  "custom_input_unwrapped",
  "finish_corrected",
  "finish_repeated",
  "finish_missing",
  "tool_renamed",
  "tool_schema_completed",
  "role_mapped",
  "history_reordered",
  "content_converted",
  "reasoning_dropped",
  "item_id_renewed",
]);
