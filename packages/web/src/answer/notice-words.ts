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
