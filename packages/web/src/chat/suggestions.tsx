import type { ChatChoices, ChatSettings } from "@deltawire/tasks/chats";
import type { IconName } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";

type SuggestionName =
  | "weather"
  | "approval"
  | "subAgent"
  | "picture"
  | "markdown"
  | "compare"
  | "explain";

export interface Suggestion {
  readonly name: SuggestionName;
  readonly icon: IconName;
  readonly settings: ChatSettings;
}

/** Only what works with what this gateway has. */
export function suggestionsFor({ agents, models, defaults }: ChatChoices): Suggestion[] {
  const demo = agents.some(({ name }) => name === demoAgent) ? { agent: demoAgent } : undefined;
  const painters = models.filter(({ type }) => type === "image-gen");
  const painter = painters.find(({ name }) => name === defaults.model) ?? painters[0];
  const chats = answersWords({ agents, models, defaults }) ? {} : firstThatChats(models);
  return [
    ...(demo === undefined
      ? []
      : ([
          { name: "weather", icon: "tool", settings: demo },
          { name: "approval", icon: "hand", settings: demo },
          { name: "subAgent", icon: "people", settings: demo },
        ] as const)),
    ...(chats === undefined || demo !== undefined
      ? []
      : ([
          { name: "compare", icon: "list", settings: chats },
          { name: "explain", icon: "think", settings: chats },
        ] as const)),
    ...(painter === undefined
      ? []
      : ([{ name: "picture", icon: "image", settings: { model: painter.name } }] as const)),
    ...(chats === undefined
      ? []
      : ([{ name: "markdown", icon: "quote", settings: chats }] as const)),
  ];
}

/** Nobody real answers: whoever has just started the gateway is told how to get there. */
export function isOnlyDemo({ models }: Pick<ChatChoices, "models">): boolean {
  return models.length > 0 && models.every(({ name }) => name.startsWith("demo/"));
}

const demoAgent = "demo-agent";

type Choices = Pick<ChatChoices, "agents" | "models" | "defaults">;

/** What a chat has that says nothing. */
function answersWords({ agents, models, defaults: { agent, model } }: Choices): boolean {
  if (agent !== undefined) return true;
  const usual = models.find(({ name }) => name === model);
  return (
    model !== undefined && (usual?.type === "chat" || agents.some(({ name }) => name === model))
  );
}

function firstThatChats(models: Choices["models"]): ChatSettings | undefined {
  const model = models.find(({ type }) => type === "chat");
  return model === undefined ? undefined : { model: model.name };
}

/** That this is a demo, and how a real model comes in its place. */
export function DemoHint({ className }: { className: string }) {
  const words = useWords(composerWords);
  return <p className={className}>{words.onlyDemo}</p>;
}
