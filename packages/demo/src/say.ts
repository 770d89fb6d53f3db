import type { Attachment, Conversation, ToolResult } from "./conversation.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { shellAmong } from "./shell-calls.ts";

/** How much of each result, and of the user's own words, is quoted. */
const quotedLength = 500;

/** Han without kana: written by somebody who reads Chinese. */
export function isChinese(text: string): boolean {
  return /\p{Script=Han}/u.test(text) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
}

/** What is said where no rule knows better: the user's words, and what this is. */
export function sayWords(words: string, tools: readonly OfferedTool[]): string {
  if (isChinese(words)) return sayChineseWords(words);
  const rightToLeft = rightToLeftWords.find(({ script }) => script.test(words));
  if (rightToLeft !== undefined) return rightToLeft.say(quote(words));
  if (/\b(?:what|which) tools\b/i.test(words)) return sayTools(tools);
  if (/\b(?:who|what) are you\b|\byour name\b|\b(?:what|which) model\b/i.test(words))
    return `I am **Deltawire's demo model**. No key, no network, no intelligence: I answer by simple rules, so that you can see text, reasoning and tool calls stream before you connect a real model.`;
  if (words === "") return `I am a demo. Say something, and I say it back.`;
  return `You said:\n\n${quote(words)}\n\nI am a **demo**: I answer by rules. ${suggestion(tools)}`;
}

function sayChineseWords(words: string): string {
  const about = "我是 Deltawire 的**演示模型**，按简单的规则回答，不需要密钥。";
  if (/你是谁|你是什么|叫什么|什么模型|哪个模型/.test(words)) return about;
  return `你说：\n\n${quote(words)}\n\n${about}`;
}

const rightToLeftWords = [
  {
    script: /\p{Script=Arabic}/u,
    say: (words: string) =>
      `قلتَ:\n\n${words}\n\nأنا **نموذج العرض** في Deltawire: أجيب وفق قواعد بسيطة، ولا أحتاج إلى مفتاح.`,
  },
  {
    script: /\p{Script=Hebrew}/u,
    say: (words: string) =>
      `אמרת:\n\n${words}\n\nאני **מודל ההדגמה** של Deltawire: אני עונה לפי כללים פשוטים, בלי מפתח.`,
  },
];

function sayTools(tools: readonly OfferedTool[]): string {
  if (tools.length === 0)
    return "Your client offers me no tools. I am a demo, but I would call them.";
  const lines = tools.map(({ name, description }) => {
    const [about = ""] = description.trim().split("\n", 1);
    return about === "" ? `- \`${name}\`` : `- \`${name}\`: ${shortened(about, 100)}`;
  });
  return `Your client offers me ${counted(tools.length, "tool")}:\n\n${lines.join("\n")}`;
}

function suggestion(tools: readonly OfferedTool[]): string {
  if (tools.length === 0) return "Ask for *a table*, *a list* or *code*, or say `long 200`.";
  if (shellAmong(tools) === undefined) return "Ask me *which tools* I have, and I call them.";
  return "Ask me *which tools* I have, or tell me to run a command that you put in `backticks`.";
}

export function sayAttachments(attachments: readonly Attachment[]): string {
  const kinds = (["image", "file", "audio"] as const).flatMap((kind) => {
    const some = attachments.filter((attachment) => attachment.kind === kind);
    if (some.length === 0) return [];
    const details = some.map(({ type, size }) =>
      [type, size === undefined ? "linked" : bytes(size)].filter(Boolean).join(", "),
    );
    const noun = kind === "audio" ? "audio recording" : kind;
    return [`${counted(some.length, noun)} (${details.join("; ")})`];
  });
  return `I got ${kinds.join(" and ")}. I cannot look into them, I am a demo.`;
}

/** What the tools answered, each in its own words, with the numbers of what can be cited. */
export function reportOf(results: readonly ToolResult[], chinese: boolean): string {
  return results.map((result) => reportOfOne(result, chinese)).join("\n\n");
}

function reportOfOne(result: ToolResult, chinese: boolean): string {
  const { name, text, failed, references, attachments } = result;
  const verbs = chinese
    ? { answered: "回答", failed: "失败" }
    : { answered: "answered", failed: "failed" };
  const head = `\`${name}\` ${failed ? verbs.failed : verbs.answered}:`;
  const cited = references.map((reference) => ` [^${reference}]`).join("");
  const seen = attachments.length > 0 ? ` ${sayAttachments(attachments)}` : "";
  const said = shortened(text === "" ? "(nothing)" : text, quotedLength);
  if (!said.includes("\n")) return `${head} ${said}${cited}${seen}`;
  return `${head}\n\n${fenced(said)}\n\n${cited.trim()}${seen}`.trimEnd();
}

/** For a client that makes room in its context: what the user wanted so far, and what tools said last. */
export function summaryOf({ earlier, earlierResults }: Conversation): string {
  if (earlier.length === 0) return "Summary: the user has not asked for anything yet.";
  const wishes = earlier.slice(-10).map((words) => `- ${shortened(oneLine(words), 120)}`);
  const results = earlierResults.map(
    ({ name, text }) => `- \`${name}\`: ${shortened(oneLine(text), 200)}`,
  );
  const said = `Summary of the conversation with the demo model. The user said:\n\n${wishes.join("\n")}`;
  return results.length === 0 ? said : `${said}\n\nTools answered last:\n\n${results.join("\n")}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

function quote(words: string): string {
  return shortened(words, quotedLength)
    .split("\n")
    .map((line) => `> ${line}`.trimEnd())
    .join("\n");
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).trimEnd()}…` : text;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function bytes(size: number): string {
  if (size < 1024) return counted(size, "byte");
  return size < 1024 * 1024
    ? `${Math.round(size / 1024)} KB`
    : `${(size / 1024 / 1024).toFixed(1)} MB`;
}
