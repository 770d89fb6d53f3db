import { assertNever } from "@deltawire/tasks";
import type { ModelType } from "@deltawire/tasks/chats";
import type { InputModality } from "./config.ts";

/** Defaults for a model, found by its name. The configuration and the upstream override them. */
export interface KnownModel {
  /** In tokens. */
  readonly contextWindow: number;
  /** Upper limit, even if the upstream lists more. */
  readonly contextWindowCap?: number;
  /** Supported reasoning efforts, the lowest first; empty for a model that does not reason. */
  readonly efforts: readonly string[];
  /** Sent if no effort is chosen. Undefined: the upstream's default applies. */
  readonly defaultEffort?: string;
  readonly hasVision: boolean;
}

/** Returns the first entry of `knownModels` whose pattern matches the name, else the defaults for unknown models. */
export function lookupKnownModel(id: string): KnownModel {
  const name = normalizeModelId(id);
  return knownModels.find(([pattern]) => pattern.test(name))?.[1] ?? unknownModel;
}

/** Guesses the type of a model from its name. Pass `upstream/model` if the upstream is known. */
export function inferModelType(id: string): ModelType {
  const name = normalizeModelId(id);
  const types = id.startsWith("demo/") ? [...demoTypes, ...knownTypes] : knownTypes;
  return types.find(([pattern]) => pattern.test(name))?.[1] ?? "chat";
}

/** Guesses what a model accepts as input in addition to text. */
export function inferInputModalities(id: string, type: ModelType): readonly InputModality[] {
  const name = normalizeModelId(id);
  switch (type) {
    case "chat": {
      const images: InputModality[] = lookupKnownModel(id).hasVision ? ["image"] : [];
      const audio: InputModality[] = audioInputPattern.test(name) ? ["audio"] : [];
      return [...images, ...audio, ...(pdfInputPattern.test(name) ? (["pdf"] as const) : [])];
    }
    case "image-gen":
      return imageEditPattern.test(name) ? ["image"] : [];
    case "image-edit":
      return ["image"];
    case "audio-stt":
      return ["audio"];
    case "audio-tts":
      return [];
    default:
      return assertNever(type);
  }
}

export function supportsTools(id: string): boolean {
  return !noToolsPattern.test(normalizeModelId(id));
}

/** Guesses from the name. Model lists also contain embedding, speech and image models, which cannot chat. */
export function looksLikeChatModel(id: string): boolean {
  return inferModelType(id) === "chat" && !nonChatPattern.test(normalizeModelId(id));
}

const nonChatPattern =
  /embed|rerank|\bbge-|moderation|guard\b|realtime|\baudio\b|-image\b|\bsora\b|\bveo\b|-ocr\b|\b(babbage|davinci)-00/;

const demoTypes: readonly (readonly [RegExp, ModelType])[] = [
  [/^painter$/, "image-gen"],
  [/^retoucher$/, "image-edit"],
  [/^listener$/, "audio-stt"],
  [/^speaker$/, "audio-tts"],
];

/** The first match wins. Chat models that also generate images are not listed: they are requested like other chat models. */
const knownTypes: readonly (readonly [RegExp, ModelType])[] = [
  [/\btts\b|\borpheus-|\bkokoro|\bcosyvoice/, "audio-tts"],
  [/whisper|transcribe|-asr\b|-stt\b|\bparakeet-|\bsensevoice/, "audio-stt"],
  [/\bimage-edit|\bkontext\b/, "image-edit"],
  [/\b(chat)?gpt-image|dall-e|imagen|\bgrok-(2-image|imagine-image)|\bqwen-image/, "image-gen"],
  [/\bflux|stable-diffusion|\bseedream|\bcogview|\bhunyuanimage/, "image-gen"],
];

const imageEditPattern = /\b(chat)?gpt-image|\bgrok-imagine-image/;
// Sources: models.dev (July 2026) for Gemini, Qwen and MiMo; docs.mistral.ai for Voxtral.
const audioInputPattern =
  /\bgpt-(4o-)?audio|\bgemini|\bqwen.*-omni|\bqwen-?3\.[56]-\d+b|\bmimo-v2(\.5(?!-pro)|-omni)|\bvoxtral/;
// Sources: models.dev (July 2026); developers.openai.com, "File inputs": GPT-4o and later models with vision.
const pdfInputPattern =
  /\bgpt-(4o(?!-audio)|4\.1|[5-9])|\bo[134](-pro)?(-20|$)|\bo4-mini|\bclaude|\bgemini|\bgrok-(4\.[2-9]|build)|\bglm-5v|\bmimo-v2-omni/;
// Source: models.dev (July 2026), the makers' own entries. Other providers list tools for some of these models.
const noToolsPattern = /\bgpt-5-chat|\bsonar\b|\bmulti-agent\b|\bqwen-mt-/;

/**
 * Providers add prefixes and tags to names: `zai-org/GLM-4.6-FP8`, `qwen3-coder:30b`,
 * `accounts/fireworks/models/kimi-k2p5`, `us.anthropic.claude-sonnet-4-5`.
 */
function normalizeModelId(id: string): string {
  return id
    .slice(id.lastIndexOf("/") + 1)
    .toLowerCase()
    .replaceAll(/(\d)p(\d)/g, "$1.$2");
}

const standardEfforts = ["low", "medium", "high"] as const;
const noEfforts = [] as const;

/**
 * Nearly every model with tools has at least this context window. Images are allowed, as in Codex for unknown models: a
 * model without vision reports an error, and one with vision can use them.
 */
const unknownModel: KnownModel = {
  contextWindow: 128_000,
  efforts: standardEfforts,
  hasVision: true,
};

const textModel = (
  contextWindow: number,
  efforts: readonly string[] = standardEfforts,
): KnownModel => ({
  contextWindow,
  efforts,
  hasVision: false,
});
const visionModel = (
  contextWindow: number,
  efforts: readonly string[] = standardEfforts,
): KnownModel => ({
  contextWindow,
  efforts,
  hasVision: true,
});

/**
 * GPT-5 is listed with 400,000 tokens and accepts 272,000 of them; GPT-5.4 and later accept more at twice the price. Codex's
 * own catalog (0.166) has 272,000 for all. developers.openai.com: the default effort is medium.
 */
const gptModel = (efforts: readonly string[], contextWindowCap = 272_000): KnownModel => ({
  contextWindow: contextWindowCap,
  contextWindowCap,
  efforts,
  defaultEffort: "medium",
  hasVision: true,
});

/**
 * The first match wins. Figures are from the makers' own entries on models.dev (July 2026), unless a comment says
 * otherwise. A model that can only switch thinking on and off has the standard efforts: its provider accepts or
 * ignores them, and Codex sends "none" for a model without efforts.
 */
const knownModels: readonly (readonly [RegExp, KnownModel])[] = [
  // OpenAI
  [/\bgpt-oss/, { ...textModel(131_072), defaultEffort: "medium" }],
  [/\bgpt-5\.3-codex-spark/, gptModel([...standardEfforts, "xhigh"], 100_000)],
  [/\bgpt-5(\.\d)?-chat/, visionModel(128_000, noEfforts)],
  [/\bgpt-([6-9]|5\.[2-9]|5\.1-codex-max)/, gptModel([...standardEfforts, "xhigh"])],
  [/\bgpt-5/, gptModel(standardEfforts)],
  [/\bgpt-4\.1/, visionModel(1_047_576, noEfforts)],
  [/\bgpt-4(o|-turbo|\.5)/, visionModel(128_000, noEfforts)],
  [/\bgpt-4\b/, textModel(8_192, noEfforts)],
  [/\bgpt-3\.?5/, textModel(16_385, noEfforts)],
  [/\bo[13]-mini/, { ...textModel(200_000), defaultEffort: "medium" }],
  [/\bo[134](-|$)/, { ...visionModel(200_000), defaultEffort: "medium" }],

  // Anthropic. platform.claude.com, "Claude Opus 5": 1M, effort high by default.
  [/\bclaude-(fable|(opus|sonnet)-(4[.-][6-9]|[5-9]))/, visionModel(1_000_000)],
  [/\bclaude/, visionModel(200_000)],

  // Google
  [/\bgemini/, visionModel(1_048_576)],
  [/\bgemma-?4/, visionModel(262_144)],
  [/\bgemma-?3/, visionModel(131_072, noEfforts)],

  // Z.ai. GLM-5.2 accepts high and max; docs.bigmodel.cn maps lower efforts to high. GLM-5.3 also accepts low.
  [/\bglm-5v/, visionModel(200_000)],
  [/\bglm-4\.6v/, visionModel(128_000)],
  [/\bglm-4\.5v/, visionModel(64_000)],
  [/\bglm-([6-9]|5\.[2-9])/, textModel(1_000_000, ["low", "high", "max"])],
  [/\bglm-(5|4\.[67])/, textModel(200_000)],
  [/\bglm-4\.5/, textModel(131_072)],
  [/\bglm/, textModel(128_000)],

  // Moonshot. docs.together.ai, "Kimi K3": 1M, images, low, high and max.
  [/\bkimi-k3/, visionModel(1_048_576, ["low", "high", "max"])],
  [/\bkimi-k2\.[5-9]/, visionModel(262_144)],
  [/\bkimi-k2-thinking/, textModel(262_144)],
  [/\bkimi-k2-(0711|instruct$)/, textModel(131_072, noEfforts)],
  [/\bkimi-k2/, textModel(262_144, noEfforts)],
  [/\bkimi/, visionModel(262_144)],

  // DeepSeek
  [/\bdeepseek-v4/, textModel(1_000_000, ["high", "max"])],
  [/\bdeepseek/, textModel(128_000)],

  // MiniMax
  [/\bminimax-m3/, visionModel(1_000_000)],
  [/\bminimax-m2/, textModel(196_608)],

  // Qwen. docs.venice.ai and Alibaba's release of 3.8: Max has vision, the open weights do not.
  [/\bqwen-?3-coder-(plus|flash)/, textModel(1_000_000, noEfforts)],
  [/\bqwen-?3-coder/, textModel(262_144, noEfforts)],
  [/\bqwen-?3[.-]8-max/, visionModel(1_000_000, ["low", "medium", "xhigh"])],
  [/\bqwen-?3\.8/, textModel(262_144)],
  [/\bqwen-?3\.7-max/, textModel(1_000_000)],
  [/\bqwen-?3\.6-max/, textModel(262_144)],
  [/\bqwen-?3\.[5-9]-(plus|flash)/, visionModel(1_000_000)],
  [/\bqwen-?3\.[5-9]/, visionModel(262_144)],
  [/\bqwen-?3-vl/, visionModel(131_072)],
  [/\bqwen-?3-omni/, visionModel(65_536)],
  [/\bqwen-?3-max/, textModel(262_144, noEfforts)],
  [/\bqwen-?3/, textModel(131_072)],
  [/\bqwen-?2[.-]5-vl/, visionModel(131_072, noEfforts)],
  [/\bqwen-?2[.-]5-coder/, textModel(32_768, noEfforts)], // model card: 32K, more only with YaRN
  [/\bqwen-?2/, textModel(131_072, noEfforts)],
  [/\bqwq/, textModel(131_072)],
  [/\bqwen-(plus|flash|turbo)/, textModel(1_000_000)],
  [/\bqwen-max/, textModel(32_768, noEfforts)],

  // xAI
  [/\bgrok-4(\.\d|-fast|-1-fast)/, visionModel(1_000_000)],
  [/\bgrok-code/, textModel(256_000)],
  [/\bgrok-(4|build)/, visionModel(256_000)],
  [/\bgrok/, textModel(131_072)],

  // Mistral. The newest models have the efforts none and high.
  [/\bmistral-(small-(4|26)|medium-(3[.-]5|26))/, visionModel(256_000, ["none", "high"])],
  [/\bmistral-(large-(3|25)|medium-(3[.-]1|2508))/, visionModel(256_000, noEfforts)],
  [/\bmistral-(large-2|nemo|7b)/, textModel(128_000, noEfforts)],
  [/\bmistral-(large|medium|small)/, visionModel(128_000, noEfforts)],
  [/\bdevstral-small-2(\b|512)/, visionModel(256_000, noEfforts)],
  [/\bdevstral-(2(\b|512)|latest|medium-latest)/, textModel(256_000, noEfforts)],
  [/\bdevstral/, textModel(128_000, noEfforts)],
  [/\bcodestral/, textModel(256_000, noEfforts)],
  [/\bmagistral/, textModel(128_000)],
  [/\bpixtral/, visionModel(128_000, noEfforts)],
  [/\bministral-3[:-]/, visionModel(256_000, noEfforts)],
  [/\bministral/, textModel(128_000, noEfforts)],
  [/\bmixtral-8x22b/, textModel(64_000, noEfforts)],
  [/\bmixtral/, textModel(32_000, noEfforts)],

  // Meta. Most providers serve Llama 4 with 128K instead of its 1M.
  [/\bllama-?4/, visionModel(128_000, noEfforts)],
  [/\bllama-?3\.2.*vision/, visionModel(128_000, noEfforts)],
  [/\bllama-?3[._-][1-3]\b/, textModel(128_000, noEfforts)],
  [/\bllama-?3\b/, textModel(8_192, noEfforts)],

  // Others
  [/\bmimo-v2\.5(?!-pro)/, visionModel(1_048_576)],
  [/\bmimo-v2(\.5)?-pro/, textModel(1_048_576)],
  [/\bmimo-v2-omni/, visionModel(262_144)],
  [/\bmimo/, textModel(262_144)],
  [/\bstep-3\.7/, visionModel(256_000)],
  [/\bstep-3/, textModel(256_000)],
  [/\bnemotron-3-super/, textModel(262_144)],
  [/\bnemotron/, textModel(128_000)],
  [/\bseed-oss/, textModel(262_000)],
  [/\bcommand-a-(03|reasoning)/, textModel(256_000, noEfforts)],
  [/\bcommand-/, textModel(128_000, noEfforts)],
  [/\bphi-4-mini/, textModel(131_072, noEfforts)],
  [/\bphi-4/, textModel(16_384, noEfforts)], // model card
  [/\bgranite/, textModel(128_000, noEfforts)],
];
