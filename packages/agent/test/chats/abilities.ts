import type { ModelAbilities } from "@deltawire/agent";

/** Of a model that can do everything but reason. */
export const able: ModelAbilities = {
  type: "chat",
  images: true,
  audio: true,
  files: true,
  tools: true,
  efforts: [],
  refuses: [],
};
