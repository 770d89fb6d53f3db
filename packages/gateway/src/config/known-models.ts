import type { ModelType } from "@deltawire/tasks/chats";
import type { TakenKind } from "./config.ts";
import { unreachable } from "../unreachable.ts";

/** What is known of a model by its name, where neither the user nor its upstream says more. */
export interface KnownModel {
  /** In tokens. */
  readonly contextWindow: number;
  /** Not more than this, even where an upstream lists more. */
  readonly mostUsed?: number;
  /** Words for the reasoning effort, the lowest first; empty for a model that does not reason. */
  readonly efforts: readonly string[];
  /** Sent where nobody chose one; without it the upstream's own default holds. */
  readonly defaultEffort?: string;
  readonly seesImages: boolean;
}

/** The facts about a model, by the first line of the table that its name fits. */
export function knownModel(id: string): KnownModel {
  const name = plainName(id);
  return knownModels.find(([pattern]) => pattern.test(name))?.[1] ?? unknownModel;
}

/** What a model makes, by its name alone; `upstream/model` where the upstream is known. */
export function knownType(id: string): ModelType {
  const name = plainName(id);
  const types = id.startsWith("demo/") ? [...demoTypes, ...knownTypes] : knownTypes;
  return types.find(([pattern]) => pattern.test(name))?.[1] ?? "chat";
}

/** What a model of that name and type takes beside text. */
export function knownTakes(id: string, type: ModelType): readonly TakenKind[] {
  const name = plainName(id);
  switch (type) {
    case "chat": {
      const images: TakenKind[] = knownModel(id).seesImages ? ["image"] : [];
      const audio: TakenKind[] = hearing.test(name) ? ["audio"] : [];
      return [...images, ...audio, ...(readingPdf.test(name) ? (["pdf"] as const) : [])];
    }
    case "image-gen":
      return alsoEditing.test(name) ? ["image"] : [];
    case "image-edit":
      return ["image"];
    case "audio-stt":
      return ["audio"];
    case "audio-tts":
      return [];
    default:
      return unreachable(type);
  }
}

export function callsTools(id: string): boolean {
  return !withoutTools.test(plainName(id));
}

/** By its name alone: a list of models has embeddings, speech and pictures in it, which a coding agent cannot use. */
export function looksLikeChatModel(id: string): boolean {
  return knownType(id) === "chat" && !noChatModel.test(plainName(id));
}

const noChatModel =
  /embed|rerank|\bbge-|moderation|guard\b|realtime|\baudio\b|-image\b|\bsora\b|\bveo\b|-ocr\b|\b(babbage|davinci)-00/;

const demoTypes: readonly (readonly [RegExp, ModelType])[] = [
  [/^painter$/, "image-gen"],
  [/^retoucher$/, "image-edit"],
  [/^listener$/, "audio-stt"],
  [/^speaker$/, "audio-tts"],
];

/** The first line that fits counts. Models that chat and make pictures as well are not here: they are asked like others. */
const knownTypes: readonly (readonly [RegExp, ModelType])[] = [
  [/\btts\b|\borpheus-|\bkokoro|\bcosyvoice/, "audio-tts"],
  [/whisper|transcribe|-asr\b|-stt\b|\bparakeet-|\bsensevoice/, "audio-stt"],
  [/\bimage-edit|\bkontext\b/, "image-edit"],
  [/\b(chat)?gpt-image|dall-e|imagen|\bgrok-(2-image|imagine-image)|\bqwen-image/, "image-gen"],
  [/\bflux|stable-diffusion|\bseedream|\bcogview|\bhunyuanimage/, "image-gen"],
];

const alsoEditing = /\b(chat)?gpt-image|\bgrok-imagine-image/;
// models.dev (July 2026) for Gemini, Qwen and MiMo; docs.mistral.ai for Voxtral.
const hearing =
  /\bgpt-(4o-)?audio|\bgemini|\bqwen.*-omni|\bqwen-?3\.[56]-\d+b|\bmimo-v2(\.5(?!-pro)|-omni)|\bvoxtral/;
// models.dev, too. developers.openai.com, "File inputs": GPT-4o and later, those that see.
const readingPdf =
  /\bgpt-(4o(?!-audio)|4\.1|[5-9])|\bo[134](-pro)?(-20|$)|\bo4-mini|\bclaude|\bgemini|\bgrok-(4\.[2-9]|build)|\bglm-5v|\bmimo-v2-omni/;
// models.dev, too, under the maker's own name; others list tools for some of them.
const withoutTools = /\bgpt-5-chat|\bsonar\b|\bmulti-agent\b|\bqwen-mt-/;

/**
 * Providers put folders before a name and tags behind it: `zai-org/GLM-4.6-FP8`, `qwen3-coder:30b`,
 * `accounts/fireworks/models/kimi-k2p5`, `us.anthropic.claude-sonnet-4-5`.
 */
function plainName(id: string): string {
  return id
    .slice(id.lastIndexOf("/") + 1)
    .toLowerCase()
    .replaceAll(/(\d)p(\d)/g, "$1.$2");
}

const usual = ["low", "medium", "high"] as const;
const none = [] as const;

/**
 * Long enough for nearly every model that can call tools. Pictures are allowed, as Codex does for a model that it does
 * not know: a model that cannot see says so, one that can should not be kept from it.
 */
const unknownModel: KnownModel = { contextWindow: 128_000, efforts: usual, seesImages: true };

const text = (contextWindow: number, efforts: readonly string[] = usual): KnownModel => ({
  contextWindow,
  efforts,
  seesImages: false,
});
const vision = (contextWindow: number, efforts: readonly string[] = usual): KnownModel => ({
  contextWindow,
  efforts,
  seesImages: true,
});

/**
 * GPT-5 is listed with 400,000 tokens and takes 272,000 of them, GPT-5.4 and later take more at twice the price: Codex's
 * own catalogue (0.166) has 272,000 for all. developers.openai.com: the default effort is medium.
 */
const gpt = (efforts: readonly string[], mostUsed = 272_000): KnownModel => ({
  contextWindow: mostUsed,
  mostUsed,
  efforts,
  defaultEffort: "medium",
  seesImages: true,
});

/**
 * The first line that fits counts. Figures are those of models.dev (July 2026) under the maker's own name, unless a line
 * says otherwise. A model that only switches its thinking on and off has the usual efforts: its provider takes or
 * ignores them, and Codex sends "none" for a model that has none.
 */
const knownModels: readonly (readonly [RegExp, KnownModel])[] = [
  // OpenAI
  [/\bgpt-oss/, { ...text(131_072), defaultEffort: "medium" }],
  [/\bgpt-5\.3-codex-spark/, gpt([...usual, "xhigh"], 100_000)],
  [/\bgpt-5(\.\d)?-chat/, vision(128_000, none)],
  [/\bgpt-([6-9]|5\.[2-9]|5\.1-codex-max)/, gpt([...usual, "xhigh"])],
  [/\bgpt-5/, gpt(usual)],
  [/\bgpt-4\.1/, vision(1_047_576, none)],
  [/\bgpt-4(o|-turbo|\.5)/, vision(128_000, none)],
  [/\bgpt-4\b/, text(8_192, none)],
  [/\bgpt-3\.?5/, text(16_385, none)],
  [/\bo[13]-mini/, { ...text(200_000), defaultEffort: "medium" }],
  [/\bo[134](-|$)/, { ...vision(200_000), defaultEffort: "medium" }],

  // Anthropic. platform.claude.com, "Claude Opus 5": 1M, effort high by default.
  [/\bclaude-(fable|(opus|sonnet)-(4[.-][6-9]|[5-9]))/, vision(1_000_000)],
  [/\bclaude/, vision(200_000)],

  // Google
  [/\bgemini/, vision(1_048_576)],
  [/\bgemma-?4/, vision(262_144)],
  [/\bgemma-?3/, vision(131_072, none)],

  // Z.ai. GLM-5.2 takes high and max; docs.bigmodel.cn maps the lower words to high. GLM-5.3 knows low too.
  [/\bglm-5v/, vision(200_000)],
  [/\bglm-4\.6v/, vision(128_000)],
  [/\bglm-4\.5v/, vision(64_000)],
  [/\bglm-([6-9]|5\.[2-9])/, text(1_000_000, ["low", "high", "max"])],
  [/\bglm-(5|4\.[67])/, text(200_000)],
  [/\bglm-4\.5/, text(131_072)],
  [/\bglm/, text(128_000)],

  // Moonshot. docs.together.ai, "Kimi K3": 1M, pictures, low, high and max.
  [/\bkimi-k3/, vision(1_048_576, ["low", "high", "max"])],
  [/\bkimi-k2\.[5-9]/, vision(262_144)],
  [/\bkimi-k2-thinking/, text(262_144)],
  [/\bkimi-k2-(0711|instruct$)/, text(131_072, none)],
  [/\bkimi-k2/, text(262_144, none)],
  [/\bkimi/, vision(262_144)],

  // DeepSeek
  [/\bdeepseek-v4/, text(1_000_000, ["high", "max"])],
  [/\bdeepseek/, text(128_000)],

  // MiniMax
  [/\bminimax-m3/, vision(1_000_000)],
  [/\bminimax-m2/, text(196_608)],

  // Qwen. docs.venice.ai and Alibaba's release of 3.8: Max sees, the open weights do not.
  [/\bqwen-?3-coder-(plus|flash)/, text(1_000_000, none)],
  [/\bqwen-?3-coder/, text(262_144, none)],
  [/\bqwen-?3[.-]8-max/, vision(1_000_000, ["low", "medium", "xhigh"])],
  [/\bqwen-?3\.8/, text(262_144)],
  [/\bqwen-?3\.7-max/, text(1_000_000)],
  [/\bqwen-?3\.6-max/, text(262_144)],
  [/\bqwen-?3\.[5-9]-(plus|flash)/, vision(1_000_000)],
  [/\bqwen-?3\.[5-9]/, vision(262_144)],
  [/\bqwen-?3-vl/, vision(131_072)],
  [/\bqwen-?3-omni/, vision(65_536)],
  [/\bqwen-?3-max/, text(262_144, none)],
  [/\bqwen-?3/, text(131_072)],
  [/\bqwen-?2[.-]5-vl/, vision(131_072, none)],
  [/\bqwen-?2[.-]5-coder/, text(32_768, none)], // its card: 32K, more with YaRN only
  [/\bqwen-?2/, text(131_072, none)],
  [/\bqwq/, text(131_072)],
  [/\bqwen-(plus|flash|turbo)/, text(1_000_000)],
  [/\bqwen-max/, text(32_768, none)],

  // xAI
  [/\bgrok-4(\.\d|-fast|-1-fast)/, vision(1_000_000)],
  [/\bgrok-code/, text(256_000)],
  [/\bgrok-(4|build)/, vision(256_000)],
  [/\bgrok/, text(131_072)],

  // Mistral. Its newest think at none or high.
  [/\bmistral-(small-(4|26)|medium-(3[.-]5|26))/, vision(256_000, ["none", "high"])],
  [/\bmistral-(large-(3|25)|medium-(3[.-]1|2508))/, vision(256_000, none)],
  [/\bmistral-(large-2|nemo|7b)/, text(128_000, none)],
  [/\bmistral-(large|medium|small)/, vision(128_000, none)],
  [/\bdevstral-small-2(\b|512)/, vision(256_000, none)],
  [/\bdevstral-(2(\b|512)|latest|medium-latest)/, text(256_000, none)],
  [/\bdevstral/, text(128_000, none)],
  [/\bcodestral/, text(256_000, none)],
  [/\bmagistral/, text(128_000)],
  [/\bpixtral/, vision(128_000, none)],
  [/\bministral-3[:-]/, vision(256_000, none)],
  [/\bministral/, text(128_000, none)],
  [/\bmixtral-8x22b/, text(64_000, none)],
  [/\bmixtral/, text(32_000, none)],

  // Meta; providers serve Llama 4 with 128K far more often than with its million.
  [/\bllama-?4/, vision(128_000, none)],
  [/\bllama-?3\.2.*vision/, vision(128_000, none)],
  [/\bllama-?3[._-][1-3]\b/, text(128_000, none)],
  [/\bllama-?3\b/, text(8_192, none)],

  // Others
  [/\bmimo-v2\.5(?!-pro)/, vision(1_048_576)],
  [/\bmimo-v2(\.5)?-pro/, text(1_048_576)],
  [/\bmimo-v2-omni/, vision(262_144)],
  [/\bmimo/, text(262_144)],
  [/\bstep-3\.7/, vision(256_000)],
  [/\bstep-3/, text(256_000)],
  [/\bnemotron-3-super/, text(262_144)],
  [/\bnemotron/, text(128_000)],
  [/\bseed-oss/, text(262_000)],
  [/\bcommand-a-(03|reasoning)/, text(256_000, none)],
  [/\bcommand-/, text(128_000, none)],
  [/\bphi-4-mini/, text(131_072, none)],
  [/\bphi-4/, text(16_384, none)], // its card
  [/\bgranite/, text(128_000, none)],
];
