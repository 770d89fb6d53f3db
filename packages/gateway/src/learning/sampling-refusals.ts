import type { JsonValue } from "@deltawire/wire";
import { dropping } from "./left-out.ts";
import type { KnownRefusal } from "./lesson.ts";
import { isAboutAskedThinking, onceIf } from "./own-content.ts";

/** What Chat upstreams have against the ways of sampling, in their words, and where these were seen. */
export const samplingRefusals: readonly KnownRefusal[] = [
  // Kimi (quirk RQ-TEMPERATURE), OpenAI (OpenHands 4131), Claude (ChatterUI 564), LiteLLM 33738
  {
    lesson: "sampling",
    says: [/temperature|top_p|top_k|_penalty/i],
    what: "samples as it likes",
    change: (tried, { text }) => {
      const [, name = ""] = fixedSampling.exec(text) ?? [];
      const drop = isSane(name, tried.body[name]) ? dropping([name], tried) : undefined;
      return drop && { ...drop, ...onceIf(isAboutAskedThinking(text, tried.body)) };
    },
  },

  // Claude on Bedrock and behind LiteLLM: either may come alone
  {
    lesson: "sampling",
    says: [
      /\b(?:temperature|top_p|top_k)\b["'`]? and ["'`]?(?:temperature|top_p|top_k)\b[^\n]{0,40}cannot both/i,
      /(?:cannot|can't|not)[^\n]{0,20} both ["'`]?(?:temperature|top_p|top_k)\b["'`]? and/i,
      /only one of ["'`]?(?:temperature|top_p|top_k)\b/i,
    ],
    what: "takes one way of sampling at a time",
    change: (tried) => {
      const sent = ["temperature", "top_p", "top_k"].filter(
        (name) => typeof tried.body[name] === "number",
      );
      const drop = dropping(sent.slice(1), tried);
      return drop && { ...drop, once: true };
    },
  },
];

const fixedSampling =
  /\b(temperature|top_p|top_k|presence_penalty|frequency_penalty)\b["'`]?[^\n]{0,60}(?:does(?: not|n't) support(?! (?:an? |the )?(?:values?|more|less|numbers?|negative|greater|over|above|below))|only (?:be set to )?(?:the default|(?:\w+ ?= ?)?1(?!\d|[.,]\d| (?:or|to|and)\b))|is deprecated|must be 1(?!\d|[.,]\d| (?:or|to|and)\b))/i;

/** What any server with this parameter could take; another number is the client's mistake. */
function isSane(name: string, value: JsonValue | undefined): boolean {
  const [least, most] = name.endsWith("_penalty") ? [-2, 2] : [0, name === "top_p" ? 1 : 2];
  if (name === "top_k") return true;
  return typeof value === "number" && value >= least && value <= most;
}
