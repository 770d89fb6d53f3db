import type { ModelChoice } from "@deltawire/tasks/chats";

/** What a model can do, whatever it is called. */
export type ModelAbilities = Omit<ModelChoice, "name">;
