import { useMemo, useRef } from "react";
import type { ChatChoices, ChatSettings, ModelChoice, PrivacyKind } from "@deltawire/tasks/chats";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Menu } from "../ui/menu.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages, type ComposerMessages } from "./composer-messages.ts";
import { ModelPicker } from "./model-picker.tsx";
import { getEffort, withEffort } from "./settings-form.ts";
import { privacyKindMessages } from "./settings-messages.ts";
import type { EditableSettings } from "./use-chat-settings.ts";
import {
  resolveResponder,
  listResponderOptions,
  hasResponder,
  type ResponderSelection,
} from "./responder.tsx";

interface ComposerBarProps {
  chatSettings: EditableSettings;
  choices: ChatChoices | undefined;
  isRunning: boolean;
  onSelectResponder: (selection: ResponderSelection) => void;
  /** Undefined if there is no chat yet. */
  onOpenPrivacy: (() => void) | undefined;
  onFiles: (files: readonly File[]) => void;
  onAddContext: () => void;
  disabled: boolean;
}

/** Menus below the input: attachments, model or agent, tools and effort. */
export function ComposerBar(props: ComposerBarProps) {
  const { choices, onFiles, onAddContext, disabled } = props;
  const t = useMessages(composerMessages);
  const fileInput = useRef<HTMLInputElement>(null);
  return (
    <div className="chat-composer-tools">
      <input
        ref={fileInput}
        type="file"
        multiple
        hidden
        aria-label={t.attachFiles}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <Menu
        label={t.attach}
        icon="add"
        disabled={disabled}
        items={[
          { label: t.attachFiles, icon: "attach", run: () => fileInput.current?.click() },
          { label: t.addContext, icon: "quote", run: onAddContext },
        ]}
      />
      {choices !== undefined && <ComposerSelectors {...props} choices={choices} />}
    </div>
  );
}

interface ToolsMenuProps {
  chatSettings: EditableSettings;
  choices: ChatChoices;
  /** The selected agent, if any. The selected groups are added to its own tools. */
  agent: string | undefined;
  disabled: boolean;
}

function ComposerSelectors(props: ComposerBarProps & { choices: ChatChoices }) {
  const { chatSettings, choices, disabled, isRunning, onSelectResponder, onOpenPrivacy } = props;
  const t = useMessages(composerMessages);
  const { settings, change } = chatSettings;
  const options = useMemo(() => listResponderOptions(choices), [choices]);
  const responder = resolveResponder(settings, choices);
  const canCallTools = responder?.model === undefined || responder.model.tools;
  return (
    <>
      <ModelPicker
        label={t.responder}
        buttonText={responder?.name ?? t.noModel}
        icon={responder?.type === "agent" ? "people" : undefined}
        options={options}
        selected={hasResponder(settings) ? settings : {}}
        disabled={disabled}
        hint={isRunning ? t.fromNextMessage : undefined}
        onSelect={onSelectResponder}
      />
      <MaskingIndicator
        kinds={listMaskedKinds(settings, choices.defaults)}
        onOpen={onOpenPrivacy}
      />
      {canCallTools && choices.tool_groups.length > 0 && (
        <ToolsMenu
          chatSettings={chatSettings}
          choices={choices}
          agent={responder?.type === "agent" ? responder.name : undefined}
          disabled={disabled}
        />
      )}
      {responder?.model !== undefined && responder.model.efforts.length > 0 && (
        <EffortMenu
          settings={settings}
          model={responder.model}
          disabled={disabled}
          onSelect={(effort) => change({ options: withEffort(settings.options, effort) })}
        />
      )}
    </>
  );
}

function ToolsMenu({
  chatSettings: { settings, change },
  choices,
  agent,
  disabled,
}: ToolsMenuProps) {
  const t = useMessages(composerMessages);
  const enabledGroups = settings.tool_groups ?? choices.defaults.tool_groups;
  const toggle = (group: string) =>
    change({
      tool_groups: enabledGroups.includes(group)
        ? enabledGroups.filter((enabledGroup) => enabledGroup !== group)
        : [...enabledGroups, group],
    });
  return (
    <Menu
      label={formatToolsLabel(enabledGroups.length, agent, t)}
      heading={agent === undefined ? t.tools : t.toolsAddedTo(agent)}
      disabled={disabled}
      className="chat-composer-menu"
      items={choices.tool_groups.map((group) => ({
        label: group,
        description: describeToolGroup(group, t),
        checked: enabledGroups.includes(group),
        hasCheckbox: true,
        run: () => toggle(group),
      }))}
    >
      <Icon name="tool" small />
      <span className="chat-composer-menu-name">{t.tools}</span>
      {enabledGroups.length > 0 && (
        <span className="chat-composer-count">{enabledGroups.length}</span>
      )}
    </Menu>
  );
}

function formatToolsLabel(
  enabledCount: number,
  agent: string | undefined,
  t: ComposerMessages,
): string {
  if (agent !== undefined) return t.toolsWithAgent(agent, enabledCount);
  return enabledCount === 0 ? t.toolsOff : t.toolsOn(enabledCount);
}

const builtInGroups = ["files", "shell", "web", "time", "agents"] as const;

/** Groups that are not built in are MCP servers. */
function describeToolGroup(group: string, t: ComposerMessages): string {
  const builtIn = builtInGroups.find((name) => name === group);
  return builtIn === undefined ? t.groupOfServer : t[`group_${builtIn}`];
}

interface EffortMenuProps {
  settings: ChatSettings;
  model: ModelChoice;
  disabled: boolean;
  onSelect: (effort: string | undefined) => void;
}

function EffortMenu({ settings, model, disabled, onSelect }: EffortMenuProps) {
  const t = useMessages(composerMessages);
  const effort = getEffort(settings.options);
  return (
    <Menu
      label={t.effort}
      disabled={disabled}
      className="chat-composer-menu"
      items={[
        {
          label: t.effortDefault,
          checked: effort === undefined,
          run: () => onSelect(undefined),
        },
        ...model.efforts.map((option) => ({
          label: option,
          checked: option === effort,
          run: () => onSelect(option),
        })),
      ]}
    >
      <Icon name="reasoning" small />
      <span className="chat-composer-menu-name">{effort ?? t.effortDefault}</span>
    </Menu>
  );
}

type PrivacySettings = Pick<ChatSettings, "privacy">;

/** Returns the distinct kinds of private values that are masked. Empty if masking is off. */
export function listMaskedKinds(
  { privacy }: PrivacySettings,
  defaults: PrivacySettings,
): readonly PrivacyKind[] {
  const { enabled = false, fields = [] } = privacy ?? defaults.privacy ?? {};
  return enabled ? [...new Set(fields.map(({ kind }) => kind))] : [];
}

interface MaskingIndicatorProps {
  kinds: readonly PrivacyKind[];
  /** Undefined if there is no chat yet. */
  onOpen: (() => void) | undefined;
}

/** The label names only this many kinds; the settings list all of them. */
const maxNamedKinds = 2;

/** Shows that private values are masked, and which kinds. */
function MaskingIndicator({ kinds, onOpen }: MaskingIndicatorProps) {
  const t = useMessages(composerMessages);
  const kindNames = useMessages(privacyKindMessages);
  if (kinds.length === 0) return null;
  const names = kinds.slice(0, maxNamedKinds).map((kind) => kindNames[kind]);
  const otherCount = kinds.length - names.length;
  const label = t.masked(
    [...names, ...(otherCount === 0 ? [] : [t.andMore(otherCount)])].join(t.comma),
  );
  if (onOpen !== undefined)
    return <IconButton icon="shield" label={label} className="chat-masking" onClick={onOpen} />;
  return (
    <span className="chat-masking" role="img" aria-label={label} title={label}>
      <Icon name="shield" />
    </span>
  );
}
