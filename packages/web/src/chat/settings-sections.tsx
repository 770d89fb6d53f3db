import { useId, useMemo } from "react";
import { Input, Select, Switch, TextArea } from "../ui/field.tsx";
import { useFormatter } from "../messages/format.ts";
import { useMessages } from "../messages/use-messages.ts";
import { ModelPicker } from "./model-picker.tsx";
import { SettingField, SettingGroup, type SettingsSectionProps } from "./setting-field.tsx";
import { getEffort, limitNames, resultPolicyOptions, type LimitField } from "./settings-form.ts";
import { settingsMessages } from "./settings-messages.ts";
import { resolveResponder, listResponderOptions, type ResponderOption } from "./responder.tsx";

/** Model or agent, instructions and model options. */
export function AnswerSection({
  form,
  choices,
  defaults,
  setField,
  getFieldProps,
  getTextProps,
}: SettingsSectionProps) {
  const t = useMessages(settingsMessages);
  const responderOptions = useMemo(
    () => (choices === undefined ? [] : listResponderOptions(choices)),
    [choices],
  );
  const responder = choices === undefined ? undefined : resolveResponder(form.responder, choices);
  const efforts = responder?.model?.efforts ?? [];
  const options = defaults?.options ?? {};
  const formatDefaultOption = (name: string) => {
    const value = options[name];
    return typeof value === "number" ? t.defaultValue(String(value)) : t.modelDefault;
  };
  const defaultEffort = getEffort(options);
  return (
    <>
      <SettingField label={t.responder} hint={t.responderHint} {...getFieldProps("responder")}>
        <ModelPicker
          label={t.responder}
          buttonText={responder?.name ?? t.none}
          icon={responder?.type === "agent" ? "people" : undefined}
          options={responderOptions}
          selected={form.responder}
          className="input chat-setting-picker"
          onSelect={(selection) => setField("responder", selection)}
        />
      </SettingField>
      <SettingField
        label={t.instructions}
        hint={t.instructionsHint}
        {...getFieldProps("instructions")}
      >
        <TextArea
          dir="auto"
          rows={8}
          placeholder={defaults?.instructions || t.defaultValue(t.none)}
          value={form.instructions ?? ""}
          onChange={({ currentTarget: { value } }) =>
            // If the gateway has default instructions, an empty string overrides them.
            setField("instructions", value === "" && !defaults?.instructions ? undefined : value)
          }
        />
      </SettingField>
      <div className="chat-settings-row">
        {(efforts.length > 0 || form.effort !== "") && (
          <SettingField label={t.effort} {...getFieldProps("effort")}>
            <Select {...getTextProps("effort")}>
              <option value="">
                {defaultEffort === undefined ? t.defaultEffort : t.defaultValue(defaultEffort)}
              </option>
              {union(efforts, form.effort === "" ? [] : [form.effort]).map((effort) => (
                <option key={effort} value={effort}>
                  {effort}
                </option>
              ))}
            </Select>
          </SettingField>
        )}
        <SettingField label={t.temperature} {...getFieldProps("temperature")}>
          <Input
            inputMode="decimal"
            placeholder={formatDefaultOption("temperature")}
            {...getTextProps("temperature")}
          />
        </SettingField>
        <SettingField label={t.maxTokens} {...getFieldProps("maxTokens")}>
          <Input
            inputMode="numeric"
            placeholder={formatDefaultOption("max_output_tokens")}
            {...getTextProps("maxTokens")}
          />
        </SettingField>
      </div>
      <SettingField
        label={t.otherOptions}
        hint={t.otherOptionsHint}
        {...getFieldProps("otherOptions")}
      >
        <TextArea
          className="chat-settings-json"
          rows={4}
          spellCheck={false}
          placeholder={Object.keys(options).length === 0 ? "{}" : JSON.stringify(options)}
          {...getTextProps("otherOptions")}
        />
      </SettingField>
    </>
  );
}

/** Tool groups, skills, approval of results, and limits. */
export function ToolsSection(props: SettingsSectionProps) {
  const { form, choices, defaults, getError, changeForm, setField, getFieldProps } = props;
  const t = useMessages(settingsMessages);
  const format = useFormatter();
  const enabledGroups = form.toolGroups ?? defaults?.tool_groups ?? [];
  const enabledSkills = form.skills ?? defaults?.skills ?? [];
  const availableSkills = choices?.skills ?? [];
  // Groups and skills that are enabled but no longer configured can still be switched off.
  const offeredGroups = union(choices?.tool_groups ?? [], enabledGroups);
  const offeredSkills = union(
    availableSkills.map(({ name }) => name),
    enabledSkills,
  );
  const describeSkill = (name: string) => {
    const skill = availableSkills.find((candidate) => candidate.name === name);
    return skill?.always === true ? t.skillAlways : (skill?.when ?? skill?.description ?? "");
  };
  const formatLimitDefault = (name: LimitField, value: number) =>
    name === "seconds"
      ? t.defaultSeconds(value, format.period(value))
      : t.defaultValue(String(value));
  const resultPolicyLabels = {
    never: t.resultsNever,
    on_error: t.resultsOnError,
    always: t.resultsAlways,
  };
  return (
    <>
      <SettingGroup
        label={t.toolGroups}
        hint={offeredGroups.length === 0 ? t.noToolGroups : t.toolGroupsHint}
        {...getFieldProps("toolGroups")}
      >
        <div className="chat-settings-switches">
          {offeredGroups.map((group) => (
            <Switch
              key={group}
              label={group}
              checked={enabledGroups.includes(group)}
              onChange={(isOn) => setField("toolGroups", toggleName(enabledGroups, group, isOn))}
            />
          ))}
        </div>
      </SettingGroup>
      <SettingGroup
        label={t.skills}
        hint={offeredSkills.length === 0 ? t.noSkills : undefined}
        {...getFieldProps("skills")}
      >
        {offeredSkills.map((skill) => (
          <div key={skill} className="chat-settings-skill">
            <Switch
              label={skill}
              checked={enabledSkills.includes(skill)}
              onChange={(isOn) => setField("skills", toggleName(enabledSkills, skill, isOn))}
            />
            <small dir="auto">{describeSkill(skill)}</small>
          </div>
        ))}
      </SettingGroup>
      <SettingField label={t.results} hint={t.resultsHint} {...getFieldProps("resultApproval")}>
        <Select
          value={form.resultApproval ?? ""}
          onChange={({ currentTarget: { value } }) =>
            setField(
              "resultApproval",
              resultPolicyOptions.find((policy) => policy === value),
            )
          }
        >
          <option value="">
            {t.defaultValue(resultPolicyLabels[defaults?.result_approval ?? "never"])}
          </option>
          {resultPolicyOptions.map((policy) => (
            <option key={policy} value={policy}>
              {resultPolicyLabels[policy]}
            </option>
          ))}
        </Select>
      </SettingField>
      <SettingGroup label={t.limits} hint={t.limitsHint}>
        <div className="chat-settings-row">
          {limitNames.map((name) => {
            const defaultValue = defaults?.limits[name];
            const setLimit = (value: string) =>
              changeForm(`limits.${name}`, { limits: { ...form.limits, [name]: value } });
            return (
              <SettingField
                key={name}
                label={t[name]}
                error={getError(`limits.${name}`)}
                isOverridden={form.limits[name] !== ""}
                onReset={() => setLimit("")}
              >
                <Input
                  inputMode={name === "cost" ? "decimal" : "numeric"}
                  placeholder={
                    defaultValue === undefined ? t.notSet : formatLimitDefault(name, defaultValue)
                  }
                  value={form.limits[name]}
                  onChange={(event) => setLimit(event.currentTarget.value)}
                />
              </SettingField>
            );
          })}
        </div>
      </SettingGroup>
    </>
  );
}

/** History length, time zone, message times and title model. */
export function ConversationSection({
  form,
  choices,
  defaults,
  setField,
  getFieldProps,
  getTextProps,
}: SettingsSectionProps) {
  const t = useMessages(settingsMessages);
  const zonesId = useId();
  const defaultTitleModel = defaults?.title_model ?? t.titleModelDefault;
  const titleModelOptions = useMemo((): readonly ResponderOption[] => {
    const defaultOption: ResponderOption = {
      id: "default",
      group: "default",
      selection: {},
      name: defaultTitleModel,
      description: "",
      model: undefined,
    };
    const options = choices === undefined ? [] : listResponderOptions(choices);
    return [defaultOption, ...options.filter(({ group }) => group === "chat")];
  }, [choices, defaultTitleModel]);
  return (
    <>
      <SettingField label={t.turns} hint={t.turnsHint} {...getFieldProps("turns")}>
        <Input
          inputMode="numeric"
          placeholder={defaults === undefined ? "" : t.defaultValue(String(defaults.turns))}
          {...getTextProps("turns")}
        />
      </SettingField>
      <SettingField label={t.timeZone} hint={t.timeZoneHint} {...getFieldProps("timeZone")}>
        <Input
          list={zonesId}
          autoComplete="off"
          spellCheck={false}
          placeholder={defaults === undefined ? "" : t.defaultValue(defaults.time_zone)}
          {...getTextProps("timeZone")}
        />
      </SettingField>
      <datalist id={zonesId}>
        {listTimeZones().map((zone) => (
          <option key={zone} value={zone}>
            {zone}
          </option>
        ))}
      </datalist>
      <SettingGroup label={t.messageTimes} {...getFieldProps("messageTimes")}>
        <Switch
          label={t.includeMessageTimes}
          checked={form.messageTimes ?? defaults?.message_times ?? false}
          onChange={(messageTimes) => setField("messageTimes", messageTimes)}
        />
      </SettingGroup>
      <SettingField
        label={t.titleModel}
        hint={defaults?.titles === false ? t.titlesOff : undefined}
        {...getFieldProps("titleModel")}
      >
        <ModelPicker
          label={t.titleModel}
          buttonText={form.titleModel === "" ? t.defaultValue(defaultTitleModel) : form.titleModel}
          options={titleModelOptions}
          selected={form.titleModel === "" ? {} : { model: form.titleModel }}
          className="input chat-setting-picker"
          onSelect={({ model = "" }) => setField("titleModel", model)}
        />
      </SettingField>
    </>
  );
}

let cachedTimeZones: readonly string[] | undefined;

function listTimeZones(): readonly string[] {
  cachedTimeZones ??= Intl.supportedValuesOf("timeZone");
  return cachedTimeZones;
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])];
}

function toggleName(names: readonly string[], name: string, isOn: boolean): string[] {
  const others = names.filter((other) => other !== name);
  return isOn ? [...others, name] : others;
}
