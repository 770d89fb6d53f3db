import { useMemo, useRef } from "react";
import type { ChatChoices, ChatSettings, ModelChoice, PrivacyKind } from "@deltawire/tasks/chats";
import { IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import { ModelPicker } from "./model-picker.tsx";
import { effortIn, withEffort } from "./settings-form.ts";
import { privacyKindWords } from "./settings-words.ts";
import type { ShownSettings } from "./use-chat-settings.ts";
import { answererIn, choicesToPick, isSaid, type Who } from "./who-answers.tsx";

interface ComposerBarProps {
  shown: ShownSettings;
  choices: ChatChoices | undefined;
  isRunning: boolean;
  onChoose: (who: Who) => void;
  /** Undefined: there is no chat yet. */
  onPrivacy: (() => void) | undefined;
  onFiles: (files: readonly File[]) => void;
  onText: () => void;
  disabled: boolean;
}

/** What goes with a message beside the words, and who answers it. */
export function ComposerBar(props: ComposerBarProps) {
  const { choices, onFiles, onText, disabled } = props;
  const words = useWords(composerWords);
  const files = useRef<HTMLInputElement>(null);
  return (
    <div className="chat-composer-tools">
      <input
        ref={files}
        type="file"
        multiple
        hidden
        aria-label={words.attachFiles}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <Menu
        label={words.attach}
        icon="add"
        disabled={disabled}
        items={[
          { label: words.attachFiles, icon: "attach", run: () => files.current?.click() },
          { label: words.addText, icon: "quote", run: onText },
        ]}
      />
      {choices !== undefined && <Choosers {...props} choices={choices} />}
    </div>
  );
}

interface ToolsMenuProps {
  shown: ShownSettings;
  choices: ChatChoices;
  /** Who has tools of its own. */
  agent: string | undefined;
  disabled: boolean;
}

function Choosers(props: ComposerBarProps & { choices: ChatChoices }) {
  const { shown, choices, disabled, isRunning, onChoose, onPrivacy } = props;
  const words = useWords(composerWords);
  const { settings, change } = shown;
  const offered = useMemo(() => choicesToPick(choices), [choices]);
  const answerer = answererIn(settings, choices);
  const mayCall = answerer?.model === undefined || answerer.model.tools;
  return (
    <>
      <ModelPicker
        label={words.answeredBy}
        shown={answerer?.name ?? words.noModel}
        icon={answerer?.is === "agent" ? "people" : undefined}
        choices={offered}
        chosen={isSaid(settings) ? settings : {}}
        disabled={disabled}
        note={isRunning ? words.fromNextOn : undefined}
        onChoose={onChoose}
      />
      <MaskedSign kinds={maskedKinds(settings, choices.defaults)} onOpen={onPrivacy} />
      {mayCall && choices.tool_groups.length > 0 && (
        <ToolsMenu
          shown={shown}
          choices={choices}
          agent={answerer?.is === "agent" ? answerer.name : undefined}
          disabled={disabled}
        />
      )}
      {answerer?.model !== undefined && answerer.model.efforts.length > 0 && (
        <EffortMenu
          settings={settings}
          model={answerer.model}
          disabled={disabled}
          onChoose={(effort) => change({ options: withEffort(settings.options, effort) })}
        />
      )}
    </>
  );
}

function ToolsMenu({ shown: { settings, change }, choices, agent, disabled }: ToolsMenuProps) {
  const words = useWords(composerWords);
  const on = settings.tool_groups ?? choices.defaults.tool_groups;
  const toggle = (group: string) =>
    change({
      tool_groups: on.includes(group) ? on.filter((each) => each !== group) : [...on, group],
    });
  return (
    <Menu
      label={labelOfTools(on.length, agent, words)}
      heading={agent === undefined ? words.tools : words.toolsAddedTo(agent)}
      disabled={disabled}
      className="chat-composer-menu"
      items={choices.tool_groups.map((group) => ({
        label: group,
        about: aboutGroup(group, words),
        checked: on.includes(group),
        box: true,
        run: () => toggle(group),
      }))}
    >
      <Icon name="tool" small />
      <span className="chat-composer-menu-name">{words.tools}</span>
      {on.length > 0 && <span className="chat-composer-count">{on.length}</span>}
    </Menu>
  );
}

type ComposerWords = (typeof composerWords)["en"];

function labelOfTools(on: number, agent: string | undefined, words: ComposerWords): string {
  if (agent !== undefined) return words.toolsOnBeside(agent, on);
  return on === 0 ? words.toolsOff : words.toolsOn(on);
}

const ownGroups = ["files", "shell", "web", "time", "agents"] as const;

/** All others are MCP servers. */
function aboutGroup(group: string, words: ComposerWords): string {
  const own = ownGroups.find((each) => each === group);
  return own === undefined ? words.groupOfServer : words[`group_${own}`];
}

interface EffortMenuProps {
  settings: ChatSettings;
  model: ModelChoice;
  disabled: boolean;
  onChoose: (effort: string | undefined) => void;
}

function EffortMenu({ settings, model, disabled, onChoose }: EffortMenuProps) {
  const words = useWords(composerWords);
  const effort = effortIn(settings.options);
  return (
    <Menu
      label={words.effort}
      disabled={disabled}
      className="chat-composer-menu"
      items={[
        {
          label: words.effortDefault,
          checked: effort === undefined,
          run: () => onChoose(undefined),
        },
        ...model.efforts.map((each) => ({
          label: each,
          checked: each === effort,
          run: () => onChoose(each),
        })),
      ]}
    >
      <Icon name="think" small />
      <span className="chat-composer-menu-name">{effort ?? words.effortDefault}</span>
    </Menu>
  );
}

type Privacy = Pick<ChatSettings, "privacy">;

/** What no model is told in a chat with these settings, each kind once; none where nothing is masked. */
export function maskedKinds({ privacy }: Privacy, defaults: Privacy): readonly PrivacyKind[] {
  const { enabled = false, fields = [] } = privacy ?? defaults.privacy ?? {};
  return enabled ? [...new Set(fields.map(({ kind }) => kind))] : [];
}

interface MaskedSignProps {
  kinds: readonly PrivacyKind[];
  /** Undefined: there is no chat yet whose settings could be opened. */
  onOpen: (() => void) | undefined;
}

/** As many as are named: the settings have them all. */
const named = 2;

/** That something is masked, and what. */
function MaskedSign({ kinds, onOpen }: MaskedSignProps) {
  const words = useWords(composerWords);
  const kindWords = useWords(privacyKindWords);
  if (kinds.length === 0) return null;
  const names = kinds.slice(0, named).map((kind) => kindWords[kind]);
  const others = kinds.length - names.length;
  const label = words.masked(
    [...names, ...(others === 0 ? [] : [words.andMore(others)])].join(words.comma),
  );
  if (onOpen !== undefined)
    return <IconButton icon="shield" label={label} className="chat-masked" onClick={onOpen} />;
  return (
    <span className="chat-masked" role="img" aria-label={label} title={label}>
      <Icon name="shield" />
    </span>
  );
}
