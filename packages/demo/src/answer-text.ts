import type { DemoAttachment, DemoConversation, ToolResult } from "./conversation.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { findShellTool } from "./shell-calls.ts";

/** Maximum number of quoted characters of each result and prompt. */
const maxQuotedLength = 500;

/** True for text with Han characters but without kana, which would be Japanese. */
export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
}

/** Returns the default answer: a quote of the prompt and a description of the demo. */
export function buildTextAnswer(prompt: string, tools: readonly OfferedTool[]): string {
  if (isChinese(prompt)) return buildChineseAnswer(prompt);
  const rightToLeftAnswer = rightToLeftAnswers.find(({ script }) => script.test(prompt));
  if (rightToLeftAnswer !== undefined) return rightToLeftAnswer.build(quoteText(prompt));
  if (/\b(?:what|which) tools\b/i.test(prompt)) return describeTools(tools);
  if (/\b(?:who|what) are you\b|\byour name\b|\b(?:what|which) model\b/i.test(prompt))
    return `I am **Deltawire's demo model**. No key, no network, no intelligence: I answer by simple rules so that you can watch text, reasoning and tool calls stream before you connect a real model.`;
  if (prompt === "") return `I am a demo. Write something, and I will repeat it.`;
  return `You said:\n\n${quoteText(prompt)}\n\nI am a **demo**: I answer by rules. ${suggestPrompt(tools)}`;
}

function buildChineseAnswer(prompt: string): string {
  const descriptionText = "我是 Deltawire 的**演示模型**，按简单的规则回答，不需要密钥。";
  if (/你是谁|你是什么|叫什么|什么模型|哪个模型/.test(prompt)) return descriptionText;
  return `你说：\n\n${quoteText(prompt)}\n\n${descriptionText}`;
}

const rightToLeftAnswers = [
  {
    script: /\p{Script=Arabic}/u,
    build: (prompt: string) =>
      `قلتَ:\n\n${prompt}\n\nأنا **نموذج العرض** في Deltawire: أجيب وفق قواعد بسيطة، ولا أحتاج إلى مفتاح.`,
  },
  {
    script: /\p{Script=Hebrew}/u,
    build: (prompt: string) =>
      `אמרת:\n\n${prompt}\n\nאני **מודל ההדגמה** של Deltawire: אני עונה לפי כללים פשוטים, בלי מפתח.`,
  },
];

function describeTools(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return "Your client offers me no tools. If it did, I would call them.";
  const lines = tools.map(({ name, description }) => {
    const [descriptionText = ""] = description.trim().split("\n", 1);
    return descriptionText === ""
      ? `- \`${name}\``
      : `- \`${name}\`: ${truncateText(descriptionText, 100)}`;
  });
  return `Your client offers me ${formatCount(tools.length, "tool")}:\n\n${lines.join("\n")}`;
}

function suggestPrompt(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return "Ask for *a table*, *a list* or *code*, or say `long 200`.";
  if (findShellTool(tools) === undefined)
    return "Ask me *which tools* I have, and I will call them.";
  return "Ask me *which tools* I have, or tell me to run a command that you put in `backticks`.";
}

export function describeAttachments(attachments: readonly DemoAttachment[]): string {
  const descriptions = (["image", "file", "audio"] as const).flatMap((kind) => {
    const matching = attachments.filter((attachment) => attachment.kind === kind);
    if (matching.length === 0) return [];
    const details = matching.map(({ description: type, size }) =>
      [type, size === undefined ? "linked" : formatBytes(size)].filter(Boolean).join(", "),
    );
    const noun = kind === "audio" ? "audio recording" : kind;
    return [`${formatCount(matching.length, noun)} (${details.join("; ")})`];
  });
  return `I received ${descriptions.join(" and ")}. I am a demo and cannot read attachments.`;
}

/** Reports the results of the tools, with the numbers of citable items. */
export function reportResults(results: readonly ToolResult[], isChineseReply: boolean): string {
  return results.map((result) => reportResult(result, isChineseReply)).join("\n\n");
}

function reportResult(result: ToolResult, isChineseReply: boolean): string {
  const { name, text, isError, references, attachments } = result;
  const verbs = isChineseReply
    ? { answered: "回答", failed: "失败" }
    : { answered: "answered", failed: "failed" };
  const head = `\`${name}\` ${isError ? verbs.failed : verbs.answered}:`;
  const citations = references.map((reference) => ` [^${reference}]`).join("");
  const attachmentText = attachments.length > 0 ? ` ${describeAttachments(attachments)}` : "";
  const content = truncateText(text === "" ? "(nothing)" : text, maxQuotedLength);
  if (!content.includes("\n")) return `${head} ${content}${citations}${attachmentText}`;
  return `${head}\n\n${fenceText(content)}\n\n${citations.trim()}${attachmentText}`.trimEnd();
}

/** For clients that compact their context: summarizes the prompts so far and the last results. */
export function summarizeConversation({
  earlierPrompts,
  earlierResults,
}: DemoConversation): string {
  if (earlierPrompts.length === 0) return "Summary: the user has not asked for anything yet.";
  const prompts = earlierPrompts
    .slice(-10)
    .map((prompt) => `- ${truncateText(toOneLine(prompt), 120)}`);
  const results = earlierResults.map(
    ({ name, text }) => `- \`${name}\`: ${truncateText(toOneLine(text), 200)}`,
  );
  const content = `Summary of the conversation with the demo model. The user said:\n\n${prompts.join("\n")}`;
  return results.length === 0
    ? content
    : `${content}\n\nThe last tool results:\n\n${results.join("\n")}`;
}

function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function quoteText(prompt: string): string {
  return truncateText(prompt, maxQuotedLength)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

function fenceText(text: string): string {
  const longestRun = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longestRun + 1);
  return `${fence}text\n${text}\n${fence}`;
}

function truncateText(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).trimEnd()}…` : text;
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function formatBytes(size: number): string {
  if (size < 1024) return formatCount(size, "byte");
  return size < 1024 * 1024
    ? `${Math.round(size / 1024)} KB`
    : `${(size / 1024 / 1024).toFixed(1)} MB`;
}
