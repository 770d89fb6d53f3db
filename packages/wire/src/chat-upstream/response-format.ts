import type { Profile } from "../profiles.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatResponseFormat, ChatTool } from "../shapes/chat-request.ts";
import type { TextFormat } from "../shapes/responses-request.ts";

/** The formats that an upstream takes in this request. */
export interface TakenFormats {
  formats: Exclude<Profile["responseFormat"], "without-tools">;
  strict: boolean;
}

export function takenFormats(
  { responseFormat: taken, strictSchemas: strict }: Profile,
  tools: readonly ChatTool[],
): TakenFormats {
  if (taken !== "without-tools") return { formats: taken, strict };
  return { formats: tools.length > 0 ? "none" : "any", strict };
}

/** The format as the upstream takes it, and what has to be said in words instead. */
export function responseFormat(
  format: TextFormat | undefined,
  saysJson: () => boolean,
  { formats, strict }: TakenFormats,
  repairs: Repairs,
  parameter = "text.format",
): { asked: ChatResponseFormat | undefined; hint: string } {
  const takesObject = formats === "any" || formats === "json_object";
  const takesSchema = formats === "any" || formats === "json_schema";
  switch (format?.type) {
    case undefined:
    case "text":
      return { asked: undefined, hint: "" };
    case "json_object": {
      // OpenAI and DeepSeek refuse json_object unless the word stands somewhere in the messages.
      const hint = saysJson() ? "" : "Answer with a JSON object.";
      if (takesObject) return { asked: { type: "json_object" }, hint };
      if (takesSchema) {
        repairs.add("parameter_changed", `${parameter}: json_object as a schema of any object`);
        const json_schema = { name: "answer", schema: { type: "object" } };
        return { asked: { type: "json_schema", json_schema }, hint };
      }
      repairs.add("parameter_changed", `${parameter}: json_object said in words`);
      return { asked: undefined, hint: "Answer only with a JSON object." };
    }
    case "json_schema": {
      const schema = format.schema ?? {};
      if (!takesSchema) {
        repairs.add("parameter_changed", `${parameter}: json_schema said in words`);
        const about = format.description ? ` (${format.description})` : "";
        const text = `Answer only with a JSON object${about} that is valid against this JSON schema:\n${JSON.stringify(schema)}`;
        return { asked: takesObject ? { type: "json_object" } : undefined, hint: text };
      }
      const json_schema = {
        name: format.name ?? "answer",
        ...(format.description ? { description: format.description } : {}),
        schema,
        ...(strict && typeof format.strict === "boolean" ? { strict: format.strict } : {}),
      };
      return { asked: { type: "json_schema", json_schema }, hint: "" };
    }
    default:
      repairs.add("parameter_dropped", `${parameter}: ${format?.type ?? ""}`);
      return { asked: undefined, hint: "" };
  }
}
