import type { ModelCapabilities } from "@deltawire/agent";

/** A model with all capabilities except reasoning. */
export const fullCapabilities: ModelCapabilities = {
  type: "chat",
  images: true,
  audio: true,
  files: true,
  tools: true,
  efforts: [],
  unsupported_options: [],
};
