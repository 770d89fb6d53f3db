import { defineMessages } from "../messages/define-messages.ts";
import {
  gatewayErrorMessages,
  translateByPattern,
  type TranslationPattern,
} from "../text/gateway-error-translations.ts";
import { updateFormerNotice } from "./former-notices.ts";

/** Formats notices of the gateway, which are always English, as sentences. Known notices are translated. */
export const noticeMessages = defineMessages({
  en: {
    translate: (notice: string) => {
      const current = updateFormerNotice(notice);
      return translateByPattern(englishPatterns, current) ?? formatSentence("en", current);
    },
  },
  zh: {
    translate: (notice: string) => {
      const current = updateFormerNotice(notice);
      return translateByPattern(chinesePatterns, current) ?? formatSentence("zh", current);
    },
  },
});

/** Unknown repair codes, which a newer gateway may send, have no spaces and are returned unchanged. */
function formatSentence(language: "en" | "zh", notice: string): string {
  return notice.includes(" ") ? gatewayErrorMessages[language].formatError(notice) : notice;
}

/** For notices that start with the name of an option, which keeps its case, or that contain lesson codes. */
const englishPatterns: readonly TranslationPattern[] = [
  [/^(.+ (?:is|are) not supported by .+ and (?:was|were) not sent)$/, (notice) => `${notice}.`],
  [
    /^(\d+ attempts?)( \(last upstream: .+?\))?; learned: .+$/,
    (attempts, upstream = "") =>
      `${attempts}${upstream}. The request was adapted after it was rejected.`,
  ],
];

const chinesePatterns: readonly TranslationPattern[] = [
  [
    /^Not sent: reasoning effort (.+?)\. This model supports (.+)\.$/,
    (effort, supported) => `未发送思考强度 ${effort}。此模型支持：${translateList(supported)}。`,
  ],
  [
    /^Not sent: (.+?)\. (.+\.)$/,
    (names, reason) => `未发送：${translateList(names)}。${translateReason(reason)}`,
  ],
  [
    /^(.+) (?:is|are) not supported by (.+) and (?:was|were) not sent$/,
    (names, server) => `${server} 不支持 ${translateList(names)}，未发送。`,
  ],
  [
    /^The (.+) was not sent: (.+)\.$/,
    (noun, reason) => `未发送${translateNoun(noun)}：${translateReason(reason)}。`,
  ],
  [
    /^The (.+) is sent unmasked: (?:images|audio files) cannot be masked\.$/,
    (noun) => `${translateNoun(noun)}按原样发送：其中的内容无法遮盖。`,
  ],
  [
    /^(?:The )?(.+) was truncated: only the first (\d+) characters are sent\.$/,
    (noun, count) => `${translateNoun(noun)}过长，只发送前 ${count} 个字符。`,
  ],
  [
    /^The (.+) was truncated: only the first (\d+) of (\d+) pages are sent\.$/,
    (noun, count, total) => `${translateNoun(noun)}共 ${total} 页，只发送前 ${count} 页。`,
  ],
  [
    /^Only the text of the (.+) is sent, (.+)\.$/,
    (noun, reason) => `${translateNoun(noun)}只发送其中的文字，${translateReason(reason)}。`,
  ],
  [
    /^the skill "(.+)" no longer exists and was ignored$/,
    (name) => `技能“${name}”已不存在，已忽略。`,
  ],
  [
    /^(.+) does not support tools; ignored tool groups: (.+)$/,
    (model, groups) => `${model} 不支持工具，已忽略工具组：${translateList(groups)}。`,
  ],
  [
    /^the (round|token|cost) limit of (\S+) was reached; the model answers without further tool calls$/,
    (unit, limit) =>
      `已达到${limitUnits.get(unit) ?? unit}上限（${limit}）：模型不再调用工具，直接作答。`,
  ],
  [
    /^(\d+) attempts?(?: \(last upstream: (.+?)\))?(; learned: .+)?$/,
    (count, upstream = "", lessons = "") =>
      `尝试了 ${count} 次${upstream === "" ? "" : `（最后使用的上游：${upstream}）`}。${lessons === "" ? "" : "请求被拒绝后已作调整。"}`,
  ],
];

const limitUnits: ReadonlyMap<string, string> = new Map([
  ["round", "工具轮数"],
  ["token", "词元数"],
  ["cost", "费用"],
]);

const reasonTranslations: ReadonlyMap<string, string> = new Map([
  ["This kind of model only supports media options.", "此类模型只支持媒体选项。"],
  ["This model does not generate images or audio.", "此模型不能生成图片或音频。"],
  ["This model cannot call tools.", "此模型不能调用工具。"],
  ["This model does not reason.", "此模型不支持思考。"],
  ["it is no longer stored", "已不再保存"],
  ["only uploaded files can be read", "只能读取已上传的文件"],
  ["because this model does not accept PDF files", "因为此模型不接受 PDF 文件"],
  ["so that it can be masked", "以便遮盖隐私内容"],
  ["it is not UTF-8 text, an image, audio or a PDF", "不是 UTF-8 文本、图片、音频或 PDF"],
  ["this model only accepts text", "此模型只接受文字"],
  ["this model only accepts text and images", "此模型只接受文字和图片"],
  ["this model only accepts audio and text", "此模型只接受音频和文字"],
  ["this model does not support images", "此模型不支持图片"],
  ["this model does not support audio", "此模型不支持音频"],
  ["only uploaded audio files can be sent", "只能发送已上传的音频文件"],
  ["its URL contains a private value", "其 URL 含有隐私内容"],
  ["it needs a password", "需要密码"],
  ["it is not a valid PDF", "不是有效的 PDF"],
  ["reading it takes too long", "读取时间过长"],
  ["reading it takes too much memory", "读取占用内存过多"],
  ["it contains no text (its pages may be scanned images)", "其中没有文字（页面可能是扫描图片）"],
  ["it could not be read", "无法读取"],
]);

const reasonPatterns: readonly TranslationPattern[] = [
  [/^it is larger than (\d+) MB$/, (size) => `超过 ${size} MB`],
  [
    /^only (.+) images are supported, got (.+)$/,
    (types, type) => `只支持 ${translateList(types)} 图片，此图片为 ${type}`,
  ],
  [
    /^only (.+) audio is supported, got (.+)$/,
    (types, type) => `只支持 ${translateList(types)} 音频，此音频为 ${type}`,
  ],
];

/** Replaces the English separators of a list, for example in "MP3 and WAV". */
function translateList(list: string): string {
  return list.replaceAll(/, | and /g, "、");
}

function translateReason(reason: string): string {
  return reasonTranslations.get(reason) ?? translateByPattern(reasonPatterns, reason) ?? reason;
}

const nounTranslations: ReadonlyMap<string, string> = new Map([
  ["image", "图片"],
  ["audio file", "音频"],
  ["file", "文件"],
  ["context", "上下文"],
  ["image from earlier in this chat", "此对话前面的图片"],
]);

/** Translates a noun with an optional quoted name, for example `image "cat.png"`, or only the quotes of a context's title. */
function translateNoun(phrase: string): string {
  const title = /^"([^]*)"$/.exec(phrase)?.[1];
  if (title !== undefined) return `“${title}”`;
  const [, noun = phrase, name = ""] = /^(\w+(?: file)?)(?: "([^]*)")?$/.exec(phrase) ?? [];
  const chinese = nounTranslations.get(noun);
  if (chinese === undefined) return phrase;
  return name === "" ? chinese : `${chinese}“${name}”`;
}

/** Descriptions of the repairs that the gateway made to requests and replies, by repair code. */
export const repairMessages = defineMessages({
  en: {
    // reply body
    event_not_json: "Part of the reply could not be parsed and was dropped.",
    event_spliced: "A broken event in the reply was dropped; the complete one after it was used.",
    complete_reply_for_stream: "The upstream sent the reply all at once instead of streaming it.",
    stream_for_complete_reply: "The upstream streamed the reply instead of sending it all at once.",
    last_event_unterminated: "The last event of the reply was not terminated, but was complete.",
    // metadata and events
    envelope_completed: "Missing metadata of the reply was filled in.",
    usage_moved: "Token usage was in an unusual place.",
    usage_estimated: "The upstream reported no token usage, so it is estimated.",
    data_after_end: "Data after the end of the reply was ignored.",
    deltas_differ: "The upstream's final text differs from the text it streamed.",
    event_dropped: "An unexpected or repeated event in the reply was ignored.",
    event_completed: "The upstream skipped some events of the reply; they were filled in.",
    response_completed: "The upstream left out fields of the response; they were filled in.",
    // text and reasoning
    content_parts_flattened: "Text that came in parts was joined.",
    content_not_text: "Content that was not text was dropped from the reply.",
    reasoning_tags_split: "Reasoning was inside the text and was separated from it.",
    reasoning_repeated: "Reasoning was sent twice and is shown once.",
    reasoning_ignored: "A second piece of reasoning contradicted the first and was ignored.",
    opaque_reasoning_lost:
      "Encrypted reasoning could not be stored and is not sent back to the model.",
    content_dropped: "Part of the answer has no equivalent for this client and was left out.",
    // tool calls
    call_id_generated: "A tool call without a usable id was given one.",
    call_id_changed: "The id of a tool call was changed to a valid one.",
    call_name_joined: "A tool name that came in pieces was joined.",
    call_name_ignored: "A tool call had two tool names; the second was ignored.",
    call_without_name: "A tool call without a tool name was dropped.",
    call_index_ignored: "Tool calls were numbered incorrectly and were matched by id.",
    call_withheld: "A tool call was cut off and was not passed on.",
    call_repeated: "A tool call was sent twice and is used once.",
    call_leaked: "A tool call inside the text was treated as a tool call.",
    legacy_function_call: "A tool call used the legacy format.",
    arguments_blank: "The arguments of a tool call were blank; it was treated as having none.",
    arguments_cumulative:
      "The arguments of a tool call were repeated from the start in each chunk.",
    arguments_repeated: "The arguments of a tool call were sent twice and are used once.",
    arguments_placeholder: "Empty arguments came first and were replaced with the real ones.",
    arguments_split: "Several tool calls sent as one were split.",
    arguments_object: "The arguments of a tool call had an unusual form.",
    arguments_tail_dropped: "Stray characters after the arguments of a tool call were removed.",
    arguments_incomplete: "The arguments of a tool call were incomplete, so it is not run.",
    custom_input_unwrapped: "Extra wrapping around a tool's input was removed.",
    // end of the reply
    finish_corrected: "A wrong finish reason was corrected.",
    finish_unknown: "An unknown finish reason was treated as a normal end.",
    finish_repeated: "The end of the reply was sent twice.",
    finish_missing: "The reply had no finish reason and was treated as complete.",
    error_ignored: "The upstream sent an error along with a complete reply; the reply was used.",
    // requests
    item_skipped:
      "Part of the conversation cannot be expressed for this upstream and was not sent.",
    tool_dropped: "A tool that this upstream does not support was not offered.",
    tool_renamed: "A tool was given a name that this upstream accepts.",
    tool_schema_completed: "The schema of a tool's arguments was completed.",
    parameter_dropped: "A parameter that this upstream does not accept was not sent.",
    parameter_changed: "A parameter was changed to a value that this upstream accepts.",
    role_mapped: "A message was sent under another role that this upstream knows.",
    history_reordered: "Messages were sent in the order that this upstream requires.",
    call_without_result: "An earlier tool call had no result; the model was informed.",
    result_without_call: "A result without a tool call was sent as a message.",
    content_converted:
      "Part of the conversation was converted to a form that this upstream accepts.",
    reasoning_dropped: "Earlier reasoning was not sent back, as the model does not accept it.",
    item_id_renewed: "Earlier parts of the conversation were sent with new ids.",
  },
  zh: {
    event_not_json: "回复中有一段无法解析，已略去。",
    event_spliced: "回复中有一个损坏的事件，已略去，并采用了其后完整的事件。",
    complete_reply_for_stream: "上游一次性返回了回复，而不是流式返回。",
    stream_for_complete_reply: "上游以流式返回了回复，而不是一次性返回。",
    last_event_unterminated: "回复的最后一个事件没有正常结束，但内容完整。",
    envelope_completed: "补全了回复缺少的元数据。",
    usage_moved: "词元用量出现在不寻常的位置。",
    usage_estimated: "上游没有报告词元用量，显示的是估算值。",
    data_after_end: "已忽略回复结束后的数据。",
    deltas_differ: "上游的最终文字与流式返回的不同。",
    event_dropped: "已忽略回复中意外或重复的事件。",
    event_completed: "上游省略了回复的一些事件，已补全。",
    response_completed: "上游省略了响应的一些字段，已补全。",
    content_parts_flattened: "文字分块返回，已合并。",
    content_not_text: "回复中有非文字内容，已略去。",
    reasoning_tags_split: "思考过程混在正文里，已分开。",
    reasoning_repeated: "思考过程返回了两次，只显示一次。",
    reasoning_ignored: "第二段思考过程与第一段不一致，已忽略。",
    opaque_reasoning_lost: "加密的思考过程无法保存，不会再发给模型。",
    content_dropped: "回答中有一部分当前客户端无法表示，已省略。",
    call_id_generated: "工具调用没有可用的 ID，已补上。",
    call_id_changed: "工具调用的 ID 已改为有效的 ID。",
    call_name_joined: "工具名称分段返回，已拼合。",
    call_name_ignored: "一次工具调用有两个工具名称，已忽略后一个。",
    call_without_name: "有工具调用缺少工具名称，已略去。",
    call_index_ignored: "工具调用的序号有误，已按 ID 区分。",
    call_withheld: "有工具调用被截断，没有转发。",
    call_repeated: "工具调用返回了两次，只采用一次。",
    call_leaked: "工具调用写在了正文里，已按工具调用处理。",
    legacy_function_call: "工具调用使用了旧格式。",
    arguments_blank: "工具调用的参数为空，按无参数处理。",
    arguments_cumulative: "工具调用的参数每次都从头发送，已整理。",
    arguments_repeated: "工具调用的参数返回了两次，只采用一次。",
    arguments_placeholder: "先返回了空参数，已换成真正的参数。",
    arguments_split: "几个工具调用连在一起，已拆分。",
    arguments_object: "工具调用的参数格式不寻常，已转换。",
    arguments_tail_dropped: "去掉了工具调用参数后面的多余字符。",
    arguments_incomplete: "工具调用的参数不完整，因此不会运行。",
    custom_input_unwrapped: "工具的输入多包了一层，已去掉。",
    finish_corrected: "回复的结束原因有误，已更正。",
    finish_unknown: "回复的结束原因未知，按正常结束处理。",
    finish_repeated: "上游发送了两次结束标记。",
    finish_missing: "回复没有结束原因，按完整回复处理。",
    error_ignored: "上游在返回完整回复的同时报告了错误，已采用该回复。",
    item_skipped: "对话中有一部分无法用该上游的格式表达，未发送。",
    tool_dropped: "有一个工具该上游不支持，未提供。",
    tool_renamed: "有一个工具改用了该上游接受的名称。",
    tool_schema_completed: "补全了工具参数的 schema。",
    parameter_dropped: "有一个参数该上游不接受，未发送。",
    parameter_changed: "有一个参数已改为该上游接受的值。",
    role_mapped: "有消息改用了该上游支持的角色。",
    history_reordered: "消息已按该上游要求的顺序发送。",
    call_without_result: "之前有工具调用没有结果，已告知模型。",
    result_without_call: "有结果不属于任何工具调用，已作为消息发送。",
    content_converted: "对话中有一部分已转换为该上游接受的形式。",
    reasoning_dropped: "模型不接受之前的思考过程，因此未发回。",
    item_id_renewed: "对话中较早的部分使用了新的 ID 发送。",
  },
});

export type KnownRepairCode = keyof (typeof repairMessages)["en"];

export function isKnownRepairCode(code: string): code is KnownRepairCode {
  return Object.hasOwn(repairMessages.en, code);
}

/** Repairs that lose no content. With some servers they happen in every answer. */
export const losslessRepairs: ReadonlySet<KnownRepairCode> = new Set<KnownRepairCode>([
  "complete_reply_for_stream",
  "stream_for_complete_reply",
  "last_event_unterminated",
  "envelope_completed",
  "usage_moved",
  "usage_estimated",
  "event_dropped",
  "event_completed",
  "response_completed",
  "content_parts_flattened",
  "reasoning_tags_split",
  "reasoning_repeated",
  "call_id_generated",
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
