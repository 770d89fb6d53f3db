import { defineMessages } from "../messages/define-messages.ts";

/**
 * Formats error messages of the gateway, which are in English and usually have neither a capital letter nor a full stop. In
 * Chinese, known messages are translated.
 */
export const gatewayErrorMessages = defineMessages({
  en: {
    /** Formats the message as a complete sentence. */
    formatError: (message: string) => capitalize(addFullStop(message)),
    /** Formats the message as the end of a sentence, after a colon. */
    formatCause: (message: string) => addFullStop(message),
  },
  zh: {
    formatError: (message: string) => translateError(message) ?? capitalize(addFullStop(message)),
    formatCause: (message: string) => translateError(message) ?? addFullStop(message),
  },
});

/** Identifiers, model names and URLs at the start keep their case. */
function capitalize(message: string): string {
  return message.replace(/^[a-z]+(?=[\s,;]|:\s)/, (word) => word[0]?.toUpperCase() + word.slice(1));
}

/** Messages that have several lines or end with a URL are returned unchanged. */
function addFullStop(message: string): string {
  if (message.includes("\n") || /:\/\/\S+$/.test(message)) return message;
  if (/\p{Script=Han}$/u.test(message)) return `${message}。`;
  return /[\p{L}\p{N})\]"'”%]$/u.test(message) ? `${message}.` : message;
}

const errorPatterns: readonly TranslationPattern[] = [
  [
    /^the connection to the upstream was lost before the reply was finished$/,
    () => "回复尚未完成，与上游的连接就中断了。",
  ],
  [
    /^the upstream closed the stream before the reply was finished$/,
    () => "回复尚未完成，上游就关闭了连接。",
  ],
  [
    /^the upstream sent nothing for too long before the reply was finished$/,
    () => "回复尚未完成，上游长时间没有发送数据。",
  ],
  [
    /^([^]+) \(((?:model "[^"]+" of )?upstream "[^"]+") is paused for (\d+) s after repeated failures\)$/,
    (error, server, seconds) =>
      // An untranslated error ends with an English full stop, which needs a space after it.
      `${translateError(error) ?? addFullStop(error)}${formatPause(server, seconds)}`.replace(
        /\.(?=上游)/,
        ". ",
      ),
  ],
  [
    /^(.+) cannot be reached: (.+); is it running, and is the address right\?$/,
    (server, cause) =>
      `无法连接到${translateServer(server)}：${translateCause(cause)}。请检查它是否正在运行、地址是否正确。`,
  ],
  [
    /^(upstream "[^"]+") answered (\d+): ([^]+)$/,
    (server, status, error) => `${translateServer(server)}返回 ${status}：${addFullStop(error)}`,
  ],
  [
    /^(.+) is paused for (\d+) s after repeated failures(?:; last error: ([^]+))?$/,
    (server, seconds, error = "") =>
      `${formatPause(server, seconds)}${error === "" ? "" : `最近一次错误：${translateError(error) ?? addFullStop(error)}`}`,
  ],
  [
    /^(.+) failed without an error message$/,
    (server) => `${translateServer(server)}失败，但没有说明原因。`,
  ],
  [
    /^(upstream "[^"]+") rejected the key \((\d+)\); check (\S+|its api_key): ([^]+)$/,
    (server, status, variable, error) =>
      `${translateServer(server)}拒绝了密钥（${status}）。请检查${translateKeyVariable(variable)}：${addFullStop(error)}`,
  ],
  [
    /^(upstream "[^"]+") requires a key \((\d+)\); set (\S+|its api_key): ([^]+)$/,
    (server, status, variable, error) =>
      `${translateServer(server)}需要密钥（${status}）。请设置${translateKeyVariable(variable)}：${addFullStop(error)}`,
  ],
  [
    /^(upstream "[^"]+") answered with a web page \(text\/html\) instead of JSON; is base_url right\?(?: The page starts with: ([^]+))?$/,
    (server, excerpt = "") =>
      `${translateServer(server)}返回了网页，而不是 JSON。请检查 base_url 是否正确。${excerpt === "" ? "" : `网页开头：${excerpt}`}`,
  ],
  [
    /^(upstream "[^"]+") redirected to (.+) \((\d+)\); redirects are not followed, because the key would be sent there; set base_url to the right address$/,
    (server, url, status) =>
      `${translateServer(server)}重定向到 ${url}（${status}）。密钥会随之发送，因此不跟随重定向。请将 base_url 设为正确的地址。`,
  ],
  [
    /^unknown upstream "([^"]+)": (\S+) was not set when the gateway started; set it and restart the gateway, or configure the upstream$/,
    (name, variable) =>
      `未知上游“${name}”：网关启动时未设置 ${variable}。请设置后重启网关，或配置该上游。`,
  ],
  [
    /^unknown model "([^"]+)": no upstream is configured$/,
    (model) => `未知模型“${model}”：没有配置上游。`,
  ],
  [
    /^unknown model "([^"]+)"(?: \(did you mean (.+?)\?\))?\. GET \/v1\/models lists all names\.(?: The model list of (.+) is not available; "upstream\/model" always works\.)?$/,
    (model, suggestion = "", unlisted = "") =>
      `未知模型“${model}”。${suggestion === "" ? "" : `你要找的是 ${suggestion} 吗？`}所有名称见 GET /v1/models。${unlisted === "" ? "" : `无法获取 ${unlisted} 的模型列表，仍可使用“上游/模型”的形式。`}`,
  ],
  [
    /^unknown agent "([^"]+)"(?: \(did you mean (.+?)\?\))?(; select another in the chat settings)?$/,
    (agent, suggestion = "", hint = "") =>
      `未知智能体“${agent}”。${suggestion === "" ? "" : `你要找的是 ${suggestion} 吗？`}${hint === "" ? "" : "请在对话设置中另选一个。"}`,
  ],
  [
    /^the answer exceeded its time limit of (\S+) s; change it in the chat settings \(limits\.seconds\)$/,
    (seconds) => `回答超过了 ${seconds} 秒的时间限制，可在对话设置中更改。`,
  ],
  [
    /^(upstream "[^"]+" at \S+) failed without a reply: (.+)$/,
    (server, cause) => `${translateServer(server)}失败，没有返回内容：${translateCause(cause)}。`,
  ],
  [/^(https?:\/\/\S+) did not answer in time$/, (url) => `${url} 没有及时响应。`],
  [
    /^(upstream "[^"]+") has no key; set (\S+) and restart the gateway$/,
    (server, variable) => `${translateServer(server)}缺少密钥。请设置 ${variable}，然后重启网关。`,
  ],
  [
    /^a chat can have at most (\d+) messages including all versions; start a new chat or delete some messages$/,
    (count) => `一个对话最多有 ${count} 条消息（包括所有版本）。请新建对话，或删除一些消息。`,
  ],
  [
    /^the chat would be (\d+) bytes long, but the limit is (\d+); continue in a new chat, or delete messages$/,
    (bytes, limit) =>
      `对话将达到 ${bytes} 字节，超过上限 ${limit} 字节。请新建对话继续，或删除一些消息。`,
  ],
  [
    /^the chats in the file are (\d+) bytes long without their attachments, but the limit is (\d+); split the file$/,
    (bytes, limit) =>
      `文件中的对话（不含附件）共 ${bytes} 字节，超过上限 ${limit} 字节。请拆分文件。`,
  ],
  // access keys
  [
    /^(the access key[^]+); the task cannot continue$/,
    (problem) => `${translateError(problem) ?? addFullStop(problem)}任务无法继续。`,
  ],
  [
    /^the access key "([^"]+)" has reached its (.+), which resets at (\S+); try again in (\d+) s$/,
    (key, limit, time, seconds) =>
      `访问密钥“${key}”已达到${translateUsageLimit(limit)}，将于 ${time} 重新计算。请在 ${seconds} 秒后重试。`,
  ],
  [
    /^the access key "([^"]+)" has a budget, but the model "([^"]+)" has no price; set its price in \[models\], or use another model$/,
    (key, model) =>
      `访问密钥“${key}”有预算，但模型“${model}”没有价格。请在 [models] 中设置其价格，或使用其他模型。`,
  ],
  [
    /^the access key "([^"]+)" could not be checked for a minute, because the store cannot be reached; try again$/,
    (name) => `无法连接存储，访问密钥“${name}”已有一分钟无法检查，请重试。`,
  ],
  [
    /^the access key "([^"]+)" was revoked; use another one$/,
    (key) => `访问密钥“${key}”已被撤销，请使用其他密钥。`,
  ],
  [
    /^the access key "([^"]+)" expired on (\S+); use another one$/,
    (key, time) => `访问密钥“${key}”已于 ${time} 过期，请使用其他密钥。`,
  ],
  [
    /^the access key ending in "([^"]+)" is unknown; it may have been removed$/,
    (end) => `未知的访问密钥（以“${end}”结尾），它可能已被移除。`,
  ],
  [
    /^model: "([^"]+)" is an agent, and the access key "([^"]+)" lacks the scope tasks; use a key that has it, or a model that is not an agent$/,
    (agent, name) =>
      `模型“${agent}”是智能体，而访问密钥“${name}”没有 tasks 权限。请使用有此权限的密钥，或不是智能体的模型。`,
  ],
  [
    /^the access key "([^"]+)" lacks the scope (.+); use a key that has it$/,
    (key, scope) =>
      `访问密钥“${key}”没有 ${scope.replaceAll(" or ", " 或 ")} 权限，请使用有此权限的密钥。`,
  ],
  [/^the chat has no message (".+")$/, (id) => `对话中没有消息 ${id}。`],
  [/^the message has no version (".+")$/, (id) => `消息没有版本 ${id}。`],
  [/^unknown chat (".+")$/, (id) => `未知对话 ${id}。`],
  [/^unknown message (".+")$/, (id) => `未知消息 ${id}。`],
  [/^unknown removal (".+")$/, (id) => `未知的删除操作 ${id}，无法撤销。`],
  [
    /^unknown format: expected a chat file (\(.+\)) or OpenAI messages (\(.+\))$/,
    (chatFile, messages) =>
      `无法识别的格式：应为对话文件 ${chatFile} 或 OpenAI 消息 ${messages.replace(" or ", " 或 ")}。`,
  ],
  [
    /^(https?:\/\/\S+): (.+)$/,
    (url, cause) => `${url}：${connectionErrorTranslations.get(cause) ?? cause}。`,
  ],
];

const errorTranslations: ReadonlyMap<string, string> = new Map([
  ["describe the image to generate", "请描述要生成的图片。"],
  ["describe what to change in the image", "请描述要对图片做的修改。"],
  ["write the text to read aloud", "请输入要朗读的文字。"],
  [
    "there is no image to edit; attach one, or generate one in this chat first",
    "没有可编辑的图片。请先添加一张，或在此对话中生成一张。",
  ],
  ["attach an audio file to transcribe", "请添加要转写的音频文件。"],
  [
    "there is nothing to send; write something or attach a file",
    "没有可发送的内容。请输入文字或添加文件。",
  ],
  [
    "only text answers can be continued; rerun the message instead",
    "只有文字回答可以继续，请改用“重新生成”。",
  ],
  [
    "the answer has no text to continue; rerun the message instead",
    "回答中没有可继续的文字，请改用“重新生成”。",
  ],
  ["the answer is still running", "回答仍在进行。"],
  ["the answer is still running; stop it first", "回答仍在进行，请先停止。"],
  [
    "an answer below this message is still running; stop it first",
    "此消息之后有回答仍在进行，请先停止。",
  ],
  [
    "an answer is still running; stop it before changing the privacy settings",
    "回答仍在进行，请先停止，再更改隐私设置。",
  ],
  [
    "a title is being generated; change the privacy settings again in a moment",
    "正在为对话命名，请稍后再更改隐私设置。",
  ],
  ["the model's reply ended before it was complete", "模型的回复没有完成就结束了。"],
  ["the store cannot be reached; try again later", "无法连接到存储，请稍后再试。"],
  ["the gateway cannot be reached", "无法连接到网关。"],
  // access keys, several gateways
  ["the access key of this task was removed", "此任务的访问密钥已被移除。"],
  [
    "the access key of this request was removed; use another one",
    "此请求的访问密钥已被移除，请使用其他密钥。",
  ],
  ["the access key of this task cannot be checked", "无法检查此任务的访问密钥。"],
  [
    "the store cannot be reached, so access keys cannot be checked; try again",
    "无法连接到存储，因此无法检查访问密钥。请重试。",
  ],
  [
    "the store cannot be read, so it is unknown whether requests need an access key; try again, or send a token of the configuration",
    "无法读取存储，因此不知道请求是否需要访问密钥。请重试，或使用配置中的令牌。",
  ],
  ["no process runs this task at the moment; try again", "目前没有进程运行此任务，请重试。"],
  // edits
  [
    "the message already has an answer; add a version to that answer instead",
    "此消息已有回答，请改为给该回答添加版本。",
  ],
  [
    "a separator cannot be placed between a message and its answer",
    "上下文分隔线不能放在消息和它的回答之间。",
  ],
  ["only a user message can be answered, not an answer", "只能回答用户消息，不能回答另一个回答。"],
  [
    "only a user message can be answered, not a separator",
    "只能回答用户消息，不能回答上下文分隔线。",
  ],
  ["only a user message can be edited", "只能编辑用户消息。"],
  ["only an answer can be generated again", "只有回答可以重新生成。"],
  ["only an answer can be continued", "只有回答可以继续。"],
  ["an answer can only be edited as a version", "回答只能编辑为新版本。"],
  ["a separator cannot be edited", "上下文分隔线不能编辑。"],
  ["a separator has no versions", "上下文分隔线没有版本。"],
  ["a separator has no answer to rerun", "上下文分隔线没有可重新生成的回答。"],
  [
    "a separator is never sent to the model, so it cannot be pinned or hidden; delete it instead",
    "上下文分隔线从不发给模型，因此不能设为始终发给模型或不发给模型。可以改为删除。",
  ],
  ["the chat already has a title: a model cannot change it", "对话已有标题，模型不能更改。"],
  [
    "an answer cannot exist without its message; delete the answer too",
    "回答不能脱离它的消息，请一并删除回答。",
  ],
  [
    "a chat cannot begin with a separator; delete the separator too",
    "对话不能以上下文分隔线开头，请一并删除它。",
  ],
  [
    "a chat cannot begin with a separator: extract a message after it instead",
    "对话不能以上下文分隔线开头，请改为提取它后面的消息。",
  ],
  [
    "a chat cannot begin with an answer: extract its message instead",
    "对话不能以回答开头，请改为提取它的消息。",
  ],
  ["this is the only version; delete the message instead", "这是唯一的版本，请改为删除消息。"],
  [
    "another version continues this one; delete that version first",
    "另一个版本是此版本的续写，请先删除那个版本。",
  ],
  ["the message is not an answer", "此消息不是回答。"],
  ["the answer is no longer running", "回答已经结束。"],
  ["this is already restored", "已经恢复过了。"],
  ["the removal contains no nodes", "没有可恢复的内容。"],
  ["the message above is deleted; restore that message first", "上面的消息已被删除，请先恢复它。"],
  [
    "the message of this version is deleted; restore that message first",
    "此版本的消息已被删除，请先恢复它。",
  ],
  ["the version does not belong to this message", "此版本不属于这条消息。"],
  [
    "the version that this one continues is deleted; restore that version first",
    "此版本所续写的版本已被删除，请先恢复那个版本。",
  ],
  ["the chat is deleted; restore it first", "对话已删除，请先恢复。"],
  ["the chat was removed in the meantime", "对话已被永久删除。"],
  ["the message is excluded from context; include it first", "此消息不发给模型，请先取消该设置。"],
  [
    "this request was already sent, and its answer has been deleted since",
    "此请求已发送过，其回答后来被删除了。",
  ],
  ["the message of this answer no longer exists", "此回答的消息已不存在。"],
  [
    "the history is too long, and the model returned no summary of it",
    "历史过长，模型没有返回摘要。",
  ],
  ["the summary of the history ended before it was complete", "历史的摘要没有完成就结束了。"],
]);

const connectionErrorTranslations: ReadonlyMap<string, string> = new Map([
  ["connection refused", "连接被拒绝"],
  ["connection reset", "连接被重置"],
  ["host name not found", "找不到主机名"],
  ["host name lookup failed temporarily", "暂时无法解析主机名"],
  ["host unreachable", "无法访问主机"],
  ["network unreachable", "无法访问网络"],
  ["connection lost", "连接中断"],
  ["connection timed out", "连接超时"],
  ["timed out waiting for the response", "等待响应超时"],
]);

function translateError(message: string): string | undefined {
  const cause = connectionErrorTranslations.get(message);
  if (cause !== undefined) return `${cause}。`;
  return errorTranslations.get(message) ?? translateByPattern(errorPatterns, message);
}

/** Formats the name of a key's environment variable, with the space that Chinese text has before Latin letters. */
function translateKeyVariable(variable: string): string {
  return variable === "its api_key" ? "其 api_key" : ` ${variable}`;
}

function translateCause(cause: string): string {
  return connectionErrorTranslations.get(cause) ?? cause;
}

/** Translates a limit of an access key, for example `limit of 60 requests per minute` or `budget of 5 per day`. */
function translateUsageLimit(limit: string): string {
  const [, max, unit, period = ""] =
    /^(?:limit|budget) of ([\d.e+-]+)(?: (requests|tokens))? per (minute|day|month)$/.exec(limit) ??
    [];
  if (max === undefined) return ` ${limit}`;
  const duration = { minute: "每分钟", day: "每天", month: "每月" }[period] ?? "";
  if (unit === undefined) return `${duration} ${max} 的预算`;
  return `${duration} ${max} ${unit === "requests" ? "次请求" : "词元"}的上限`;
}

/** Translates the server in an error, for example `model "m" of upstream "lab"`. */
function translateServer(server: string): string {
  const [, model, name, url] =
    /^(?:model "([^"]+)" of )?upstream "([^"]+)"(?: at (\S+))?$/.exec(server) ?? [];
  if (name === undefined) return ` ${server} `;
  return `上游“${name}”${url === undefined ? "" : `（${url}）`}${model === undefined ? "" : `的模型“${model}”`}`;
}

function formatPause(server: string, seconds: string): string {
  return `${translateServer(server).trimStart()}多次失败，暂停 ${seconds} 秒。`;
}

export type TranslationPattern = readonly [
  pattern: RegExp,
  translate: (...groups: string[]) => string,
];

/** Returns the translation of the first matching pattern, or undefined if none matches. */
export function translateByPattern(
  patterns: readonly TranslationPattern[],
  text: string,
): string | undefined {
  for (const [pattern, translate] of patterns) {
    const groups = pattern.exec(text);
    if (groups !== null) return translate(...groups.slice(1));
  }
  return undefined;
}
