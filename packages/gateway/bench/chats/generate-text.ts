import { createSeededRandom } from "../../../../test/seeded-random.ts";

/*
 * Generates the texts of the store, the same for the same seed. Words follow Zipf's law, as in natural language: a few make up
 * half of the text, and some occur only once.
 */

export interface SeededRandom {
  /** An integer from 0 to below `below`. */
  integer(below: number): number;
  /** From 0 to 1. */
  part(): number;
}

export function createRandom(seed: number): SeededRandom {
  const part = createSeededRandom(seed);
  return { part, integer: (below) => Math.floor(part() * below) };
}

export type Language = "en" | "zh";

/** Generates a number of words, in sentences. */
export function generateText(random: SeededRandom, language: Language, words: number): string {
  const { list, ends, gap } = languages[language];
  let text = "";
  let inSentence = 0;
  for (let nth = 0; nth < words; nth += 1) {
    const isLast = inSentence >= 5 && random.integer(9) === 0;
    text +=
      language === "zh" && random.integer(40) === 0
        ? pickByRank(languages.en.list, random)
        : pickByRank(list, random);
    text += isLast ? (ends[random.integer(ends.length)] ?? "") : nth + 1 < words ? gap : "";
    inSentence = isLast ? 0 : inSentence + 1;
  }
  return text;
}

/** Mostly short, sometimes long: log-uniform. */
export function pickLength(random: SeededRandom, least: number, most: number): number {
  return Math.round(least * (most / least) ** random.part());
}

/** The word of rank r has a frequency of about 1/r. */
function pickByRank(list: readonly string[], random: SeededRandom): string {
  return list[Math.floor(list.length ** random.part()) - 1] ?? "";
}

const english =
  "the to and of a in is you for it that on with this as be can are or not if your we from use have an at will " +
  "by but so what when which there one all do how more data code file time like here first then need each " +
  "example value should would function into they set type also work only error using new between list model " +
  "key some name two other run change line test because make just user server result same want way query number " +
  "return string case its get state right cache problem many request order different point search table page out " +
  "start question answer add call than read write know still every think about well show memory language build " +
  "step small system check note help large second message part idea instead local open update these " +
  "version good them over simple most after thing index support without process stream token " +
  "interface internal interval international interpret interrupt intersection internet interaction interesting";

const functionWords = "的 了 是 在 我 不 有 和 你 就 也 都 要 会 这 那 把 对 到 说";
const chineseWords =
  "我们 可以 一个 这个 问题 数据 使用 如果 没有 什么 需要 时候 进行 文件 代码 方法 因为 所以 但是 系统 例如 结果 模型 " +
  "用户 时间 服务 函数 语言 搜索 消息 回答 设计 请求 测试 学习 世界 工作 内容 直接 其中 不同 通过 已经 还是 信息 错误 " +
  "程序 网络 缓存 索引 存储 页面 打开 查询 分支 版本 对话 历史 简单 重要 方式 情况 处理 支持 实现 返回 更新 运行 检查";
const characters =
  "一二三四五六七八九十大小中上下前后左右天地人山水火木金土日月年时分秒东西南北春夏秋冬风云雨雪花草树鸟鱼马牛羊" +
  "红黄蓝绿白黑长短高低多少新旧好坏快慢开关进出来去走跑飞坐站看听说读写想知记忘爱恨喜怒哀乐生老病死父母兄弟姐妹" +
  "男女老师学生朋友同事医院公司学校市场银行饭店机场车站图书电影音乐艺术历史文化经济政治社会科技自然环境健康运动";

/** The prefix of many frequent words. */
export const wordFamily = "transf";
const familySize = 60;

/** Languages have tens of thousands of words: after the common ones, words are composed of syllables. */
function listEnglishWords(): string[] {
  const [begins, middles, ends] = [
    "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sc sh sl sp st str t th tr v w z",
    "a e i o u ai ea ee io oa ou au",
    "b ck d ft g l ll m n nd ng nt p r rd rk rm rn s ss st t th x",
  ].map((parts) => parts.split(" "));
  const random = createRandom(11);
  const one = (parts: readonly string[] = []) => parts[random.integer(parts.length)] ?? "";
  const words = new Set(english.split(" "));
  const family = words.size + familySize;
  while (words.size < 30_000) {
    let word = words.size < family ? wordFamily : "";
    for (let syllables = 1 + random.integer(3); syllables > 0; syllables -= 1)
      word += one(begins) + one(middles);
    words.add(word + one(ends));
  }
  return [...words];
}

function listChineseWords(): string[] {
  const random = createRandom(12);
  const all = Array.from(characters);
  const one = () => all[random.integer(all.length)] ?? "";
  const words = new Set([...functionWords.split(" "), ...chineseWords.split(" ")]);
  while (words.size < 12_000) words.add(one() + one() + (random.integer(5) === 0 ? one() : ""));
  return [...words];
}

const languages = {
  en: { list: listEnglishWords(), gap: " ", ends: [". ", ". ", ", ", "? ", ":\n- ", ".\n\n"] },
  zh: { list: listChineseWords(), gap: "", ends: ["。", "，", "，", "。", "？", "：\n", "。\n\n"] },
} as const satisfies Record<Language, object>;
