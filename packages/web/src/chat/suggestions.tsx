import type { ChatChoices, ChatSettings } from "@deltawire/tasks/chats";
import type { IconName } from "../ui/icon.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";

type SuggestionName =
  | "weather"
  | "approval"
  | "subAgent"
  | "image"
  | "markdown"
  | "compare"
  | "explain";

export interface Suggestion {
  readonly name: SuggestionName;
  readonly icon: IconName;
  readonly settings: ChatSettings;
}

/** Returns the suggestions that work with the models and agents of this gateway. */
export function listSuggestions({ agents, models, defaults }: ChatChoices): Suggestion[] {
  const demoSettings = agents.some(({ name }) => name === demoAgent)
    ? { agent: demoAgent }
    : undefined;
  const imageModels = models.filter(({ type }) => type === "image-gen");
  const imageModel = imageModels.find(({ name }) => name === defaults.model) ?? imageModels[0];
  const chatSettings = hasDefaultTextResponder({ agents, models, defaults })
    ? {}
    : selectFirstChatModel(models);
  return [
    ...(demoSettings === undefined
      ? []
      : ([
          { name: "weather", icon: "tool", settings: demoSettings },
          { name: "approval", icon: "hand", settings: demoSettings },
          { name: "subAgent", icon: "people", settings: demoSettings },
        ] as const)),
    ...(chatSettings === undefined || demoSettings !== undefined
      ? []
      : ([
          { name: "compare", icon: "list", settings: chatSettings },
          { name: "explain", icon: "reasoning", settings: chatSettings },
        ] as const)),
    ...(imageModel === undefined
      ? []
      : ([{ name: "image", icon: "image", settings: { model: imageModel.name } }] as const)),
    ...(chatSettings === undefined
      ? []
      : ([{ name: "markdown", icon: "quote", settings: chatSettings }] as const)),
  ];
}

/** True if there are only demo models. The start page then explains how to configure real ones. */
export function hasOnlyDemoModels({ models }: Pick<ChatChoices, "models">): boolean {
  return models.length > 0 && models.every(({ name }) => name.startsWith("demo/"));
}

const demoAgent = "demo-agent";

type SuggestionChoices = Pick<ChatChoices, "agents" | "models" | "defaults">;

/** True if the gateway's default is an agent or a chat model, rather than, for example, an image model. */
function hasDefaultTextResponder({
  agents,
  models,
  defaults: { agent, model },
}: SuggestionChoices): boolean {
  if (agent !== undefined) return true;
  const defaultModel = models.find(({ name }) => name === model);
  return (
    model !== undefined &&
    (defaultModel?.type === "chat" || agents.some(({ name }) => name === model))
  );
}

/** Returns settings that select the first chat model. Undefined if there is none. */
function selectFirstChatModel(models: SuggestionChoices["models"]): ChatSettings | undefined {
  const model = models.find(({ type }) => type === "chat");
  return model === undefined ? undefined : { model: model.name };
}

/** Explains that only the demo model is available, and how to configure a real one. */
export function DemoHint({ className }: { className: string }) {
  const t = useMessages(composerMessages);
  return <p className={className}>{t.onlyDemo}</p>;
}
