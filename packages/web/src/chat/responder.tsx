import {
  findRunningAnswers,
  type Chat,
  type ChatChoices,
  type ChatSettings,
  type ModelChoice,
  type ModelType,
} from "@deltawire/tasks/chats";
import { useMemo } from "react";
import { useCommands } from "../hooks/use-app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";

/** At most one of the two is set. If neither is set, the gateway's default applies. */
export type ResponderSelection = Pick<ChatSettings, "agent" | "model">;

export interface Responder {
  readonly type: "agent" | "model";
  readonly name: string;
  /** The model, or the agent's model. Undefined if the gateway does not list it. */
  readonly model: ModelChoice | undefined;
}

/** Returns the model or agent that would answer with these settings. Undefined if they name neither and there is no default. */
export function resolveResponder(
  settings: ResponderSelection,
  { defaults, agents, models }: ChatChoices,
): Responder | undefined {
  const selection = hasResponder(settings) ? settings : defaults;
  const name = selection.agent ?? selection.model;
  if (name === undefined) return undefined;
  const agent = agents.find((candidate) => candidate.name === name);
  const modelName = agent?.model ?? name;
  return {
    type: agent === undefined && selection.agent === undefined ? "model" : "agent",
    name,
    model: models.find((model) => model.name === modelName),
  };
}

/** Returns the model or agent of a running task. Undefined if unknown. */
export function findRunningResponder(chat: Chat, taskId: string): string | undefined {
  const answer = findRunningAnswers(chat).find(({ task_id }) => task_id === taskId);
  const node = answer && chat.nodes[answer.node_id];
  if (node?.kind !== "answer") return undefined;
  const version = node.versions.find(({ version_id }) => version_id === answer?.version_id);
  return version?.agent ?? version?.model;
}

/** Returns the agent or model of a chat's settings. */
export function getSelectedResponder({ agent, model }: ChatSettings): ResponderSelection {
  if (agent !== undefined) return { agent };
  return model === undefined ? {} : { model };
}

export function hasResponder({ agent, model }: ResponderSelection): boolean {
  return agent !== undefined || model !== undefined;
}

export type ResponderOptionGroup = "default" | "agents" | "chat" | "images" | "audio" | "typed";

/** An option of the model picker. */
export interface ResponderOption {
  readonly id: string;
  readonly group: ResponderOptionGroup;
  readonly selection: ResponderSelection;
  readonly name: string;
  readonly description: string;
  readonly model: ModelChoice | undefined;
}

/** Returns all options in display order. */
export function listResponderOptions(choices: ChatChoices): ResponderOption[] {
  const { agents, models } = choices;
  const defaultResponder = resolveResponder({}, choices);
  const allOptions: ResponderOption[] = [
    ...(defaultResponder === undefined
      ? []
      : [
          {
            ...createResponderOption("default", defaultResponder.name, {}),
            model: defaultResponder.model,
          },
        ]),
    ...agents.map(({ name, description, model }) => ({
      ...createResponderOption("agents", name, { agent: name }, description),
      model: models.find((candidate) => candidate.name === model),
    })),
    ...models.map((model) => ({
      ...createResponderOption(optionGroupByModelType[model.type], model.name, {
        model: model.name,
      }),
      model,
    })),
  ];
  return optionGroups.flatMap((group) => allOptions.filter((option) => option.group === group));
}

const optionGroups: readonly ResponderOptionGroup[] = [
  "default",
  "agents",
  "chat",
  "images",
  "audio",
];

const optionGroupByModelType: Readonly<Record<ModelType, ResponderOptionGroup>> = {
  chat: "chat",
  "image-gen": "images",
  "image-edit": "images",
  "audio-stt": "audio",
  "audio-tts": "audio",
};

function createResponderOption(
  group: ResponderOptionGroup,
  name: string,
  selection: ResponderSelection,
  description = "",
) {
  return { id: `${group} ${name}`, group, selection, name, description };
}

/** Returns the options whose name or description contains every word of the query. */
export function filterResponderOptions(
  options: readonly ResponderOption[],
  query: string,
): readonly ResponderOption[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return options;
  return options.filter(({ group, name, description }) => {
    const text = `${name} ${description}`.toLowerCase();
    return group !== "default" && words.every((word) => text.includes(word));
  });
}

/**
 * Returns an option for a query of the form `upstream/model` that matches no option, because some servers do not list their
 * models. Returns undefined for other queries.
 */
export function parseTypedOption(
  query: string,
  options: readonly ResponderOption[],
  upstreams: ChatChoices["upstreams"],
): ResponderOption | undefined {
  const name = query.trim();
  const slashIndex = name.indexOf("/");
  const isFullName = slashIndex > 0 && slashIndex < name.length - 1 && !/\s/.test(name);
  if (!isFullName || upstreams.every((upstream) => upstream.name !== name.slice(0, slashIndex)))
    return undefined;
  if (options.some((option) => option.name === name)) return undefined;
  return { ...createResponderOption("typed", name, { model: name }), model: undefined };
}

/**
 * Returns the agent or model to request for one answer. Names the gateway's default, as the chat's own settings would apply to
 * a request that names neither.
 */
export function toAnswerResponder(
  selection: ResponderSelection,
  { defaults }: Pick<ChatChoices, "defaults">,
): ResponderSelection {
  return hasResponder(selection) ? selection : getSelectedResponder(defaults);
}

/** Converts a selection to a settings patch, in which `null` removes a setting. */
export function toResponderPatch({ agent, model }: ResponderSelection) {
  return { agent: agent ?? null, model: model ?? null };
}

interface ResponderCommandsProps {
  choices: ChatChoices;
  onSelect: (selection: ResponderSelection) => void;
}

/** With more options than this, the command palette shows them only in search results. */
const maxPaletteEntries = 6;

/** Registers a command for each model and agent. */
export function ResponderCommands({ choices, onSelect }: ResponderCommandsProps) {
  const t = useMessages(composerMessages);
  const options = useMemo(
    () => listResponderOptions(choices).filter(({ group }) => group !== "default"),
    [choices],
  );
  useCommands(
    options.map(({ id, name, description, selection }) => ({
      id: `answer with ${id}`,
      title: t.answerWith(name),
      group: t.group,
      keywords: description,
      isSearchOnly: options.length > maxPaletteEntries,
      run: () => onSelect(selection),
    })),
  );
  return null;
}
