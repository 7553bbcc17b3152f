-- Health of an InferenceRollout for Argo CD: what its conditions say of the generation that is applied.
local health = {status = "Progressing", message = "Nobody has looked at this generation yet."}

local status = obj.status
if status == nil or status.conditions == nil or status.observedGeneration ~= obj.metadata.generation then
  return health
end

local function condition(kind)
  for _, each in ipairs(status.conditions) do
    if each.type == kind and each.observedGeneration == obj.metadata.generation then
      return each
    end
  end
  return {status = "Unknown"}
end

local stalled, reconciling, ready = condition("Stalled"), condition("Reconciling"), condition("Ready")
if stalled.status == "True" then
  return {status = "Degraded", message = stalled.message}
end
if reconciling.status == "True" and (reconciling.reason == "AwaitingApproval" or reconciling.reason == "Paused") then
  return {status = "Suspended", message = reconciling.message}
end
if ready.status == "True" then
  return {status = "Healthy", message = ready.message}
end
if reconciling.status == "True" then
  health.message = reconciling.message
end
return health
