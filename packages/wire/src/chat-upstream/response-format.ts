import type { UpstreamProfile } from "../upstream-profile.ts";
import type { Repairs } from "../repairs.ts";
import type { ChatResponseFormat, ChatTool } from "../shapes/chat-request.ts";
import type { ResponseTextFormat } from "../shapes/responses-request.ts";

/** The formats that an upstream supports in this request. */
export interface SupportedFormats {
  formats: Exclude<UpstreamProfile["responseFormat"], "without-tools">;
  strict: boolean;
}

export function getSupportedFormats(
  { responseFormat: supported, strictSchemas: strict }: UpstreamProfile,
  tools: readonly ChatTool[],
): SupportedFormats {
  if (supported !== "without-tools") return { formats: supported, strict };
  return { formats: tools.length > 0 ? "none" : "any", strict };
}

/**
 * Returns a format that the upstream supports, and an instruction ("" for none) that replaces what it does not support.
 * `parameter` is the name of the client's parameter, for repairs.
 */
export function toChatResponseFormat(
  format: ResponseTextFormat | undefined,
  mentionsJson: () => boolean,
  { formats, strict }: SupportedFormats,
  repairs: Repairs,
  parameter = "text.format",
): { format: ChatResponseFormat | undefined; hint: string } {
  const supportsObject = formats === "any" || formats === "json_object";
  const supportsSchema = formats === "any" || formats === "json_schema";
  switch (format?.type) {
    case undefined:
    case "text":
      return { format: undefined, hint: "" };
    case "json_object": {
      // OpenAI and DeepSeek reject json_object unless a message contains the word JSON.
      const hint = mentionsJson() ? "" : "Answer with a JSON object.";
      if (supportsObject) return { format: { type: "json_object" }, hint };
      if (supportsSchema) {
        repairs.add(
          "parameter_changed",
          `${parameter}: json_object sent as a schema of any object`,
        );
        const json_schema = { name: "answer", schema: { type: "object" } };
        return { format: { type: "json_schema", json_schema }, hint };
      }
      repairs.add("parameter_changed", `${parameter}: json_object sent as an instruction`);
      return { format: undefined, hint: "Answer only with a JSON object." };
    }
    case "json_schema": {
      const schema = format.schema ?? {};
      if (!supportsSchema) {
        repairs.add("parameter_changed", `${parameter}: json_schema sent as an instruction`);
        const descriptionText = format.description ? ` (${format.description})` : "";
        const text = `Answer only with a JSON object${descriptionText} that is valid against this JSON schema:\n${JSON.stringify(schema)}`;
        return { format: supportsObject ? { type: "json_object" } : undefined, hint: text };
      }
      const json_schema = {
        name: format.name ?? "answer",
        ...(format.description ? { description: format.description } : {}),
        schema,
        ...(strict && typeof format.strict === "boolean" ? { strict: format.strict } : {}),
      };
      return { format: { type: "json_schema", json_schema }, hint: "" };
    }
    default:
      repairs.add("parameter_dropped", `${parameter}: ${format?.type ?? ""}`);
      return { format: undefined, hint: "" };
  }
}
