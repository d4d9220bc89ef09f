-- Slurm's job_submit plugin: a job with --comment "foretell:zoo:resnet50,batch=32" that
-- asks for no GPU gets the MIG slice that foretell names. Needs foretell_gres in PATH of
-- slurmctld.

local PREFIX = "foretell:"

-- Words of the comment behind the prefix; nil where one is not harmless in a shell, and
-- where the first names no network of the zoo: files of users are not slurmctld's to read.
function foretell_words(comment)
  local words = {}
  for word in string.gmatch(string.sub(comment, #PREFIX + 1), "[^,]+") do
    if not string.match(word, "^%w[%w_.:=+-]*$") then
      return nil
    end
    words[#words + 1] = word
  end
  if #words == 0 or not string.match(words[1], "^zoo:") then return nil end
  return words
end

function foretell_gres(words)
  local pipe = io.popen("foretell_gres " .. table.concat(words, " ") .. " 2>&1")
  local line = pipe:read("*l")
  local done = pipe:close()
  return done, line or ""
end

function slurm_job_submit(job, partitions, user)
  local comment = job.comment or ""
  if string.sub(comment, 1, #PREFIX) ~= PREFIX then return slurm.SUCCESS end
  if job.tres_per_node ~= nil and job.tres_per_node ~= "" then
    return slurm.SUCCESS
  end
  local words = foretell_words(comment)
  if words == nil then
    slurm.log_user("foretell: expected --comment foretell:zoo:NAME,OPTION=VALUE")
    return slurm.ERROR
  end
  local done, line = foretell_gres(words)
  if not done then
    slurm.log_user(line)
    return slurm.ERROR
  end
  job.tres_per_node = "gres/" .. line
  slurm.log_user("foretell: " .. line)
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
  return slurm.SUCCESS
end

return slurm.SUCCESS
